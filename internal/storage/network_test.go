package storage_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/storage"
)

func TestAcquireLease_is_exclusive_until_it_expires(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		const ttl = 10 * time.Second
		for _, test := range []struct {
			network chain.ID
			holder  string
			after   time.Duration
			epoch   int64 // 0 = fenced
		}{
			{"bitcoin", "one", 0, 1},
			{"bitcoin", "two", 0, 0},
			{"ethereum", "two", 0, 1},
			{"bitcoin", "one", 9 * time.Second, 1},  // renews the lease
			{"bitcoin", "two", 11 * time.Second, 0}, // notices the renewal
			{"bitcoin", "two", 20 * time.Second, 0},
			{"bitcoin", "two", 21 * time.Second, 2}, // takes the lease over
			{"bitcoin", "one", 21 * time.Second, 0},
			{"bitcoin", "two", time.Hour, 2}, // renews after the expiry, before another process has waited for it
			{"bitcoin", "one", time.Hour, 0}, // has waited, but sees the renewal
			{"bitcoin", "one", time.Hour + 10*time.Second, 3},
		} {
			epoch, err := s.AcquireLease(t.Context(), test.network, test.holder, noon.Add(test.after), ttl)
			if fenced := test.epoch == 0; epoch != test.epoch || fenced != errors.Is(err, invoice.ErrFenced) || !fenced && err != nil {
				t.Errorf("%s of %s after %s: got epoch %d, error %v, want epoch %d", test.holder, test.network, test.after, epoch, err, test.epoch)
			}
		}
	})
}

func TestAcquireLease_has_one_holder_concurrently(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		other := open(t, url)
		var mu sync.Mutex
		leaders := 0
		var group sync.WaitGroup
		for i := range 16 {
			group.Go(func() {
				process := s
				if i%2 == 1 {
					process = other
				}
				_, err := process.AcquireLease(t.Context(), "bitcoin", fmt.Sprint("holder", i), noon, time.Minute)
				if err != nil && !errors.Is(err, invoice.ErrFenced) {
					t.Error(err)
				}
				if err == nil {
					mu.Lock()
					defer mu.Unlock()
					leaders++
				}
			})
		}
		group.Wait()
		if leaders != 1 {
			t.Errorf("got %d leaders, want 1", leaders)
		}
	})
}

func TestProgress_returns_the_saved_progress(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		epoch := acquireLease(t, s, "bitcoin", "one", noon)
		if p, err := s.Progress(t.Context()); err != nil || len(p) != 0 {
			t.Errorf("before the first scan: got %v, %v, want nothing", p, err)
		}
		want := invoice.Progress{
			Cursor: chain.Cursor{Height: 800_000, Hash: "00aa"}, Tip: chain.Cursor{Height: 800_024, Hash: "00bb"},
			Scanned: noon, Gaps: []invoice.Gap{{Until: noon.Add(-time.Hour)}, {From: noon.Add(-time.Minute), Until: noon}}, Sequence: 7,
			Read: chain.Block{Height: 800_024, Hash: "00bb", Time: noon}, Loaded: map[string]int64{"shop": 3},
			Recent: []chain.Cursor{{Height: 7, Hash: "h7"}, {Height: 8, Hash: "h8"}},
			Forks:  []invoice.Fork{{Left: chain.Cursor{Height: 8, Hash: "o8"}, At: chain.Cursor{Height: 7, Hash: "h7"}}},
		}
		if err := s.SaveProgress(t.Context(), invoice.Lease{Network: "bitcoin", Epoch: epoch, Sequence: 7}, want); err != nil {
			t.Fatal(err)
		}
		got, err := s.Progress(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[chain.ID]invoice.Progress{"bitcoin": want}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestLease_fences_former_holders_and_old_snapshots(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		create(t, s, creation("a", "shop"))
		old := acquireLease(t, s, "bitcoin", "one", noon)
		epoch := takeOver(t, s, "bitcoin", "two", noon)
		saved := invoice.Lease{Network: "bitcoin", Epoch: epoch, Sequence: 5}
		if err := s.SaveProgress(t.Context(), saved, invoice.Progress{Scanned: noon}); err != nil {
			t.Fatal(err)
		}
		for name, test := range map[string]struct {
			lease invoice.Lease
			want  error
		}{
			"zero_lease":               {invoice.Lease{}, nil},
			"in_force":                 {invoice.Lease{Network: "bitcoin", Epoch: epoch, Sequence: 6}, nil},
			"taken_over":               {invoice.Lease{Network: "bitcoin", Epoch: old, Sequence: 6}, invoice.ErrFenced},
			"saved_snapshot":           {saved, invoice.ErrFenced},
			"older_snapshot":           {invoice.Lease{Network: "bitcoin", Epoch: epoch, Sequence: 4}, invoice.ErrFenced},
			"unknown_epoch":            {invoice.Lease{Network: "bitcoin", Epoch: epoch + 1, Sequence: 6}, invoice.ErrFenced},
			"network_without_a_leader": {invoice.Lease{Network: "ethereum", Epoch: 1, Sequence: 6}, invoice.ErrFenced},
		} {
			_, err := s.UpdateInvoice(t.Context(), "a", test.lease, func(inv *invoice.Invoice) error {
				inv.Version++
				return nil
			})
			if !errors.Is(err, test.want) {
				t.Errorf("update with lease %s: got error %v, want %v", name, err, test.want)
			}
			if test.lease.IsZero() || test.want == nil {
				continue
			}
			if err := s.SaveProgress(t.Context(), test.lease, invoice.Progress{}); !errors.Is(err, invoice.ErrFenced) {
				t.Errorf("save with lease %s: got error %v, want %v", name, err, invoice.ErrFenced)
			}
		}
		if inv, err := s.Invoice(t.Context(), "a"); err != nil || inv.Version != 3 {
			t.Errorf("got version %d, error %v, want 3 after two changes", inv.Version, err)
		}
	})
}

// acquireLease acquires a lease and fails the test if it is held.
func acquireLease(t *testing.T, s *storage.Storage, network chain.ID, holder string, at time.Time) int64 {
	t.Helper()
	epoch, err := s.AcquireLease(t.Context(), network, holder, at, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return epoch
}

// takeOver acquires a lease that its holder does not renew.
func takeOver(t *testing.T, s *storage.Storage, network chain.ID, holder string, at time.Time) int64 {
	t.Helper()
	if _, err := s.AcquireLease(t.Context(), network, holder, at, time.Minute); !errors.Is(err, invoice.ErrFenced) {
		t.Fatalf("got error %v, want %v", err, invoice.ErrFenced)
	}
	return acquireLease(t, s, network, holder, at.Add(time.Minute))
}

func TestAcquireLease_is_taken_over_by_one_waiting_process(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		acquireLease(t, s, "bitcoin", "one", noon)
		acquired := 0
		for _, at := range []time.Time{noon, noon.Add(time.Hour)} {
			for i := range 4 {
				if _, err := s.AcquireLease(t.Context(), "bitcoin", fmt.Sprint("waiting", i), at, time.Minute); err == nil {
					acquired++
				}
			}
		}
		if acquired != 1 {
			t.Errorf("%d took the lease over, want 1", acquired)
		}
	})
}

func TestMeasureSkew_compares_with_the_clock_of_the_database(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		for _, ahead := range []time.Duration{-time.Hour, 0, time.Hour} {
			skew, margin, err := s.MeasureSkew(t.Context(), func() time.Time { return time.Now().Add(ahead) })
			if deviation := (skew - ahead).Abs(); err != nil || deviation > margin+2*time.Millisecond {
				t.Errorf("a clock %s ahead is measured as %s ahead, to within %s, error %v", ahead, skew, margin, err)
			}
		}
		acquireLease(t, s, "bitcoin", "one", noon)
		released := acquireLease(t, s, "litecoin", "one", noon)
		if err := s.ReleaseLease(t.Context(), "litecoin", released); err != nil {
			t.Fatal(err)
		}
		skews, err := s.LeaderSkews(t.Context())
		if deviation := (skews["bitcoin"] - time.Hour).Abs(); err != nil || len(skews) != 1 || deviation > time.Minute {
			t.Errorf("got skews %v, error %v, want only bitcoin with one hour", skews, err)
		}
	})
}

func TestReleaseLease_ends_the_lease(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		epoch := acquireLease(t, s, "bitcoin", "one", noon)
		release := func(network chain.ID, epoch int64) {
			t.Helper()
			if err := s.ReleaseLease(t.Context(), network, epoch); err != nil {
				t.Fatal(err)
			}
		}
		release("bitcoin", epoch+1)
		release("ethereum", epoch)
		if _, err := s.AcquireLease(t.Context(), "bitcoin", "two", noon, time.Minute); !errors.Is(err, invoice.ErrFenced) {
			t.Errorf("after other leases were released: got error %v, want %v", err, invoice.ErrFenced)
		}
		release("bitcoin", epoch)
		if got := acquireLease(t, s, "bitcoin", "two", noon); got != epoch+1 {
			t.Errorf("next holder: got epoch %d, want %d", got, epoch+1)
		}
		release("bitcoin", epoch) // by a former holder
		if _, err := s.AcquireLease(t.Context(), "bitcoin", "one", noon, time.Minute); !errors.Is(err, invoice.ErrFenced) {
			t.Errorf("after an old epoch was released: got error %v, want %v", err, invoice.ErrFenced)
		}
		release("bitcoin", epoch+1)
		if got := acquireLease(t, s, "bitcoin", "two", noon); got != epoch+2 {
			t.Errorf("same holder after a release: got epoch %d, want %d", got, epoch+2)
		}
	})
}

// withNewWallet returns the creation of an invoice whose Bitcoin address is of another wallet.
func withNewWallet(id string) invoice.Creation {
	c := creation(id, "shop")
	build := c.Build
	c.Build = func(next invoice.NextIndex) (*invoice.Invoice, error) {
		inv, err := build(func(counter string) (uint32, error) {
			if counter == "shop/BTC" {
				counter = "shop/new"
			}
			return next(counter)
		})
		if err != nil {
			return nil, err
		}
		inv.CreatedAt = noon.Add(2 * time.Hour)
		for i := range inv.Methods {
			inv.Methods[i].Destination.Script = "new:" + inv.Methods[i].Destination.Script
		}
		return inv, nil
	}
	return c
}

func TestUnusedInARow_counts_the_newest_invoices_without_a_payment(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		w := merchant.Wallet{MerchantID: "shop", Counter: "shop/BTC", CreatedAt: noon.Add(-time.Hour)}
		unused := func() int64 {
			t.Helper()
			n, err := s.UnusedInARow(t.Context(), w, "bitcoin")
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		if got := unused(); got != 0 {
			t.Errorf("before the first invoice: %d, want 0", got)
		}
		for i := range 25 {
			create(t, s, creation(fmt.Sprint("i", i), "shop"))
		}
		if got := unused(); got != 25 {
			t.Errorf("after 25 invoices: %d, want 25", got)
		}
		_, err := s.UpdateInvoice(t.Context(), "i21", invoice.Lease{}, func(inv *invoice.Invoice) error {
			inv.Transfers = []invoice.Transfer{{
				ID: "tx:0", Network: "bitcoin", Tx: "tx", Asset: "BTC", Script: inv.Methods[0].Destination.Script,
				Amount: money.MustParse("1", money.BTC), Presence: invoice.Present, FirstSeen: noon,
			}}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := unused(); got != 3 {
			t.Errorf("after the 22nd was paid: %d, want 3", got)
		}

		// The invoices above are of the wallet that this one replaces. The last has an index of its own, and is of a
		// process that still uses the former wallet.
		w = merchant.Wallet{MerchantID: "shop", Counter: "shop/new", CreatedAt: noon.Add(time.Hour)}
		if got := unused(); got != 0 {
			t.Errorf("of a wallet without an invoice: %d, want 0", got)
		}
		for i := range 3 {
			create(t, s, withNewWallet(fmt.Sprint("n", i)))
		}
		late := creation("late", "shop")
		build := late.Build
		late.Build = func(next invoice.NextIndex) (*invoice.Invoice, error) {
			inv, err := build(next)
			if err == nil {
				inv.CreatedAt = noon.Add(2 * time.Hour)
			}
			return inv, err
		}
		create(t, s, late)
		if got := unused(); got != 3 {
			t.Errorf("after 3 invoices of a new wallet: %d, want 3", got)
		}
	})
}
