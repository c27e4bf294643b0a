package storage_test

import (
	"context"
	crand "crypto/rand"
	"fmt"
	"log/slog"
	"math/big"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/report"
	"chequer/internal/storage"
)

// keyedShop is a merchant with wallets whose destinations are derived from their keys.
type keyedShop struct {
	id       string
	bitcoin  []keys.Key // the last one is of the active wallet, the others are of former ones
	ether    keys.Key
	counters map[string]string // by script
	seen     map[string]bool   // the counters that had a sum in a check
}

// newKeyedShop returns a merchant with several wallets.
func newKeyedShop(t *testing.T, s *storage.Storage, id string) *keyedShop {
	t.Helper()
	k := &keyedShop{id: id, counters: map[string]string{}, seen: map[string]bool{}}
	for i, kind := range []keys.Kind{keys.BTC, keys.BTC, keys.ETH} {
		_, key, err := keys.NewTestKey(crand.Reader, kind)
		if err != nil {
			t.Fatal(err)
		}
		err = s.CreateWallet(t.Context(), merchant.Wallet{
			ID: fmt.Sprint("w", i, id), MerchantID: id, Mode: merchant.Live, Asset: string(kind), Key: key.String(), Counter: key.Fingerprint(), CreatedAt: noon.Add(time.Duration(i) * time.Second),
		})
		if err != nil {
			t.Fatal(err)
		}
		if k.ether = key; kind == keys.BTC {
			k.bitcoin = append(k.bitcoin, key)
		}
	}
	return k
}

// create creates an invoice whose destinations are derived from one of the Bitcoin keys and the Ethereum key.
func (k *keyedShop) create(t *testing.T, s *storage.Storage, id string, bitcoin int, mode invoice.Mode, at time.Time) {
	t.Helper()
	c := creation(id, k.id)
	c.Build = func(next invoice.NextIndex) (*invoice.Invoice, error) {
		var indexes [2]uint32
		for i, key := range []keys.Key{k.bitcoin[bitcoin], k.ether} {
			index, err := next(key.Fingerprint())
			if err != nil {
				return nil, err
			}
			indexes[i] = index
		}
		inv := newInvoice(id, k.id, indexes[0], indexes[1])
		inv.Mode, inv.CreatedAt = mode, at
		for i, m := range inv.Methods {
			key := k.ether
			if i == 0 {
				key = k.bitcoin[bitcoin]
			}
			address, script, err := key.Address(m.Index)
			if err != nil {
				return nil, err
			}
			inv.Methods[i].Destination = chain.Destination{Address: address, Script: script}
			k.counters[script] = key.Fingerprint()
		}
		return inv, nil
	}
	create(t, s, c)
}

// changeTransfers changes the transfers of an invoice at random: a payment appears, becomes deeper or less deep, leaves its
// block, is reverted, grows, or is added to another one.
func changeTransfers(inv *invoice.Invoice, random *rand.Rand) {
	for range 1 + random.IntN(4) {
		n := len(inv.Transfers)
		if n == 0 || random.IntN(4) == 0 {
			m := inv.Methods[random.IntN(len(inv.Methods))]
			inv.Transfers = append(inv.Transfers, invoice.Transfer{
				ID: fmt.Sprintf("%s:%d", inv.ID, random.Uint64()), Network: m.Asset.Network, Tx: fmt.Sprintf("tx%d", random.Uint64()), Asset: m.Asset.Code,
				Script: m.Destination.Script, Amount: randomAmount(m.Asset.Currency, random), Presence: invoice.Present, FirstSeen: noon, Required: 2,
			})
			continue
		}
		i := random.IntN(n)
		switch t := &inv.Transfers[i]; random.IntN(10) {
		case 0:
			t.Block, t.ConfirmedAt, t.Confirmations = nil, time.Time{}, 0
		case 1:
			t.Presence = []invoice.Presence{invoice.Present, invoice.Reorged}[random.IntN(2)]
		case 2:
			t.Amount = t.Amount.Add(randomAmount(t.Amount.Currency(), random))
		case 3:
			inv.Transfers = append(inv.Transfers[:i:i], inv.Transfers[i+1:]...)
		default:
			t.Block, t.ConfirmedAt = &chain.Block{Height: 7, Hash: "b7", Time: noon}, noon
			t.Confirmations, t.Required = random.IntN(6), []int{0, 1, 2, 2, 3}[random.IntN(5)]
		}
	}
}

// randomAmount returns an amount that does not fit into 64 bits if the currency has 18 decimals.
func randomAmount(c money.Currency, random *rand.Rand) money.Amount {
	units := big.NewInt(random.Int64N(1e12))
	if c.Decimals == 18 {
		units.Mul(units, big.NewInt(1e12))
	}
	return money.FromMinor(units.Add(units, big.NewInt(1)), c)
}

// receivedByHand returns the sums of the confirmed transfers of all live invoices, by counter and asset.
func (k *keyedShop) receivedByHand(t *testing.T, s *storage.Storage) map[string]map[string]string {
	t.Helper()
	all, _, err := s.Invoices(t.Context(), invoice.Filter{MerchantID: k.id, Mode: invoice.Live}, invoice.Position{}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]map[string]money.Amount{}
	for _, inv := range all {
		for _, transfer := range inv.Transfers {
			if transfer.Presence != invoice.Present || transfer.Block == nil || transfer.Required == 0 || transfer.Confirmations < transfer.Required {
				continue
			}
			counter := k.counters[transfer.Script]
			if sums[counter] == nil {
				sums[counter] = map[string]money.Amount{}
			}
			amount := transfer.Amount
			if sum, known := sums[counter][transfer.Asset]; known {
				amount = sum.Add(amount)
			}
			sums[counter][transfer.Asset] = amount
		}
	}
	texts := map[string]map[string]string{}
	for counter, amounts := range sums {
		texts[counter] = map[string]string{}
		for asset, amount := range amounts {
			texts[counter][asset] = amount.String()
		}
	}
	return texts
}

// check fails unless the received sums are those of all transfers.
func (k *keyedShop) check(t *testing.T, s *storage.Storage, after string) {
	t.Helper()
	received, err := s.Received(t.Context(), k.id)
	if err != nil || !received.Complete {
		t.Fatalf("after %s: complete %t, error %v", after, received.Complete, err)
	}
	got := map[string]map[string]string{}
	for counter, sums := range received.ByKey {
		got[counter], k.seen[counter] = map[string]string{}, true
		for _, sum := range sums {
			got[counter][sum.Asset] = sum.Amount.String()
		}
	}
	if diff := cmp.Diff(k.receivedByHand(t, s), got); diff != "" {
		t.Errorf("received sums of %s after %s (-transfers +sums):\n%s", k.id, after, diff)
	}
	if differ, err := storage.ReceivedDiffer(t.Context(), s, k.id); err != nil || differ {
		t.Errorf("after %s: the full computation differs: %t, error %v", after, differ, err)
	}
}

// The received sums are those of all confirmed transfers of live invoices after every change, and after a removal of the books.
func TestReceived_follows_every_change(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 0))
		shops := []*keyedShop{newKeyedShop(t, s, "shop"), newKeyedShop(t, s, "bakery")}
		for i := range 24 {
			mode := invoice.Live
			if i%6 == 5 {
				mode = invoice.Test
			}
			shops[i%4/3].create(t, s, fmt.Sprint("i", i), random.IntN(2), mode, noon.Add(time.Duration(i)*time.Minute))
		}
		for step := range 240 {
			update(t, t.Context(), s, fmt.Sprint("i", random.IntN(24)), func(inv *invoice.Invoice) { changeTransfers(inv, random) })
			if step%20 == 19 {
				for _, k := range shops {
					k.check(t, s, fmt.Sprint("step ", step))
				}
			}
		}
		if len(shops[0].seen) < 3 {
			t.Errorf("only the keys %v received something, want all three", shops[0].seen)
		}
		for i := range 12 {
			updateInvoice(t, s, fmt.Sprint("i", i), func(inv *invoice.Invoice) {
				finish(inv)
				for j := range inv.Transfers { // so that no payment is awaited
					if t := &inv.Transfers[j]; t.Presence == invoice.Present {
						t.Block, t.ConfirmedAt, t.Confirmations, t.Required = &chain.Block{Height: 7, Hash: "b7", Time: noon}, noon, 2, 2
					}
				}
			})
		}
		choose(t, s, merchant.SettingBooks, "10")
		before := len(allInvoices(t, s, "shop"))
		removeBooks(t, s, noon.AddDate(12, 0, 0))
		if after := len(allInvoices(t, s, "shop")); after >= before || after == 0 {
			t.Errorf("%d of %d invoices remain after the removal", after, before)
		}
		for _, k := range shops {
			k.check(t, s, "the removal of the books")
		}
	})
}

func allInvoices(t *testing.T, s *storage.Storage, merchantID string) []*invoice.Invoice {
	t.Helper()
	all, _, err := s.Invoices(t.Context(), invoice.Filter{MerchantID: merchantID, Mode: invoice.Live}, invoice.Position{}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Received sums that are computed again while transfers change count each of them once.
func TestReceived_is_computed_while_transfers_change(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		storage.SetSumBatch(s, 3)
		k := newKeyedShop(t, s, "shop")
		const count = 30
		random := rand.New(rand.NewPCG(1, 2))
		for i := range count {
			k.create(t, s, fmt.Sprint("i", i), i%2, invoice.Live, noon.Add(time.Duration(i/4)*time.Minute))
			update(t, t.Context(), s, fmt.Sprint("i", i), func(inv *invoice.Invoice) { changeTransfers(inv, random) })
		}
		if err := s.RestartSums(t.Context(), "shop"); err != nil {
			t.Fatal(err)
		}
		if received, err := s.Received(t.Context(), "shop"); err != nil || received.Complete {
			t.Errorf("the sums are complete: %t, error %v, want incomplete sums", received.Complete, err)
		}
		var group sync.WaitGroup
		for worker := range 3 {
			group.Go(func() {
				random := rand.New(rand.NewPCG(uint64(worker), 7))
				for range 30 {
					id := fmt.Sprint("i", worker+3*random.IntN(count/3))
					_, err := s.UpdateInvoice(context.WithoutCancel(t.Context()), id, invoice.Lease{}, func(inv *invoice.Invoice) error {
						changeTransfers(inv, random)
						return nil
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Go(func() {
			if err := report.NewFiller(s, time.Hour, slog.New(slog.DiscardHandler)).Fill(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
		group.Wait()
		k.check(t, s, "concurrent changes")
	})
}

// An upgrade from a release without received sums computes them, also for a merchant without sums of days.
func TestReceived_after_an_upgrade(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		k := newKeyedShop(t, s, "shop")
		random := rand.New(rand.NewPCG(3, 4))
		for i := range 10 {
			k.create(t, s, fmt.Sprint("i", i), i%2, invoice.Live, noon)
			for range 4 {
				update(t, t.Context(), s, fmt.Sprint("i", i), func(inv *invoice.Invoice) { changeTransfers(inv, random) })
			}
		}
		execSQL(t, url, "DELETE FROM day_sum_zones")
		downgrade(t, url)
		upgraded := open(t, url)
		if received, err := upgraded.Received(t.Context(), "shop"); err != nil || received.Complete {
			t.Errorf("the sums are complete: %t, error %v, want incomplete sums", received.Complete, err)
		}
		fill(t, upgraded)
		k.check(t, upgraded, "the upgrade")
		if len(k.seen) < 2 {
			t.Errorf("only the keys %v received something, want two or more", k.seen)
		}
	})
}

// downgrade undoes the migrations from the one that adds the received sums on.
func downgrade(t *testing.T, url string) {
	t.Helper()
	for _, statement := range []string{
		"DROP TABLE received_sums", "ALTER TABLE day_sum_zones DROP COLUMN received_at", "ALTER TABLE day_sum_zones DROP COLUMN received_id",
		"DROP INDEX wallets_connections", "DROP INDEX destinations_lightning",
		"DROP TABLE sweep_rows", "DROP TABLE sweeps", "DROP TABLE sweep_leases",
		"DROP TABLE simnet_requests", "ALTER TABLE destinations DROP COLUMN request",
		"DROP INDEX refunds_by_position", "DROP INDEX refunds_by_payment", "DROP INDEX refunds_unfinal", "DROP INDEX refunds_stated", "DROP INDEX refunds_by_block",
		"ALTER TABLE refunds DROP COLUMN pay_id", "ALTER TABLE refunds DROP COLUMN pay_seen_at", "ALTER TABLE refunds DROP COLUMN pay_height",
		"ALTER TABLE refunds DROP COLUMN pay_hash", "ALTER TABLE refunds DROP COLUMN pay_time", "ALTER TABLE refunds DROP COLUMN pay_confirmations",
		"ALTER TABLE refunds DROP COLUMN pay_required", "ALTER TABLE refunds DROP COLUMN trouble", "ALTER TABLE refunds DROP COLUMN former_amounts",
		"ALTER TABLE refunds DROP COLUMN watch_until", "ALTER TABLE refunds DROP COLUMN position",
		"ALTER TABLE refunds DROP COLUMN checked", "ALTER TABLE refunds DROP COLUMN checked_by", "ALTER TABLE refunds DROP COLUMN checked_at",
		"ALTER TABLE refunds DROP COLUMN market_rate", "ALTER TABLE refunds DROP COLUMN market_source", "ALTER TABLE refunds DROP COLUMN market_at",
		"DROP INDEX transfers_unsure", "ALTER TABLE transfers DROP COLUMN contested",
		"ALTER TABLE transfers DROP COLUMN rate", "ALTER TABLE transfers DROP COLUMN rate_source", "ALTER TABLE transfers DROP COLUMN rate_at",
		"DROP TABLE examined_invoices", "DROP TABLE closed_lines", "DROP TABLE closings",
		"ALTER TABLE products DROP COLUMN vat_rate", "ALTER TABLE invoices DROP COLUMN vat_rate",
		"DELETE FROM goose_db_version WHERE version_id >= 58",
	} {
		execSQL(t, url, statement)
	}
}
