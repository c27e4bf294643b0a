package received_test

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	mathrand "math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/received"
)

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// shop stores wallets and transfers.
type shop struct {
	wallets   []merchant.Wallet
	transfers []received.Transfer
	err       error
	reads     int
}

func (s *shop) AllWallets(context.Context, string, merchant.Mode) ([]merchant.Wallet, error) {
	return s.wallets, nil
}

func (s *shop) EachReceived(_ context.Context, _ string, add func(received.Transfer)) error {
	s.reads++
	for _, t := range s.transfers {
		add(t)
	}
	return s.err
}

// newKey returns a new public key.
func newKey(t *testing.T, kind keys.Kind) keys.Key {
	t.Helper()
	_, key, err := keys.NewTestKey(rand.Reader, kind)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// The sums of random transfers to random keys, of which some had several wallets, and some are of no wallet.
func TestCompute_sums_the_transfers_of_each_key(t *testing.T) {
	t.Parallel()
	random := mathrand.New(mathrand.NewPCG(1, 2))
	for range 20 {
		s := &shop{}
		all := []keys.Key{newKey(t, keys.BTC), newKey(t, keys.BTC), newKey(t, keys.LTC), newKey(t, keys.ETH), newKey(t, keys.BTC)}
		for i, key := range append(all[:4:4], all[0]) { // the first key again; the last key has no wallet
			s.wallets = append(s.wallets, merchant.Wallet{ID: string(rune('a' + i)), Asset: "BTC", Key: key.String(), Counter: key.Fingerprint()})
		}
		want := map[string]map[string]money.Amount{}
		for range 200 {
			i := random.IntN(len(all))
			asset, currency := "BTC", money.BTC
			if i == 3 && random.IntN(2) == 0 {
				asset, currency = "ETH-BASE", money.ETH
			}
			index := uint32(random.IntN(30))
			_, script, err := all[i].Address(index)
			if err != nil {
				t.Fatal(err)
			}
			amount := money.FromCents(random.Int64N(1e12), currency)
			s.transfers = append(s.transfers, received.Transfer{Script: script, Index: index, Asset: asset, Amount: amount})
			if i == 4 {
				continue
			}
			of := all[i].Fingerprint()
			if want[of] == nil {
				want[of] = map[string]money.Amount{}
			}
			if sum, known := want[of][asset]; known {
				amount = sum.Add(amount)
			}
			want[of][asset] = amount
		}
		sums, err := received.Compute(t.Context(), s, "shop", noon)
		if err != nil || !sums.At.Equal(noon) {
			t.Fatalf("sums of %v, error %v", sums.At, err)
		}
		got := map[string]map[string]money.Amount{}
		for counter, list := range sums.ByKey {
			got[counter] = map[string]money.Amount{}
			for _, sum := range list {
				got[counter][sum.Asset] = sum.Amount
			}
		}
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b money.Amount) bool { return a.Equal(b) && a.Currency() == b.Currency() })); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// A reader gets the first sums after a short time, and later ones without any.
func TestService_returns_sums_while_others_are_computed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		key := newKey(t, keys.BTC)
		_, script, err := key.Address(0)
		if err != nil {
			t.Fatal(err)
		}
		transfer := received.Transfer{Script: script, Asset: "BTC", Amount: money.MustParse("0.5", money.BTC)}
		s := &shop{wallets: []merchant.Wallet{{ID: "a", Key: key.String(), Counter: "counter"}}, transfers: []received.Transfer{transfer}}
		service := received.NewService(s, time.Now, slog.New(slog.DiscardHandler))
		if sums := service.Sums(t.Context(), "shop"); !sums.At.IsZero() {
			t.Errorf("the sums before the computation are %+v, want none", sums)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- service.Run(ctx) }()
		want := func(amount string) {
			t.Helper()
			sums := service.Sums(t.Context(), "shop")
			if got := sums.ByKey["counter"]; len(got) != 1 || got[0].Amount.String() != amount {
				t.Errorf("at %s: the sums are %+v, want %s", time.Now(), sums, amount)
			}
			synctest.Wait()
		}
		want("0.5")
		s.transfers = append(s.transfers, transfer)
		want("0.5") // they are new
		time.Sleep(2 * time.Minute)
		service.Sums(t.Context(), "shop") // perhaps the old ones, while others are computed
		synctest.Wait()
		want("1")
		if s.reads != 2 {
			t.Errorf("the transfers were read %d times, want 2", s.reads)
		}
		s.err = errors.New("no connection")
		time.Sleep(2 * time.Minute)
		want("1")
		want("1")
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
