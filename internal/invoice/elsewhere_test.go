package invoice_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/ethereum"
	"chequer/internal/invoice"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/rates"
	"chequer/internal/storage/storagetest"
	"chequer/internal/tokentest"
	"chequer/internal/watcher"
)

// evm is an EVM network that reports the transfers of a test.
type evm struct {
	*ethereum.Network
	now         func() time.Time
	transfers   []chain.Transfer
	unverified  string // code of a token whose contract is not the expected one
	blocksAbove int64  // blocks above the first tip
}

func (e *evm) Assets() []chain.Asset {
	assets := e.Network.Assets()
	for i := range assets {
		assets[i].Unverified = assets[i].Code == e.unverified
	}
	return assets
}

func (e *evm) Scan(_ context.Context, _ chain.Cursor, watched chain.Watched) (chain.Snapshot, error) {
	tip := chain.Block{Height: 100 + e.blocksAbove, Hash: fmt.Sprintf("0x%d", 100+e.blocksAbove), Time: e.now()}
	s := chain.Snapshot{Started: e.now(), From: chain.Cursor{Height: 1, Hash: "0x1"}, Tip: tip, Next: chain.Cursor{Height: 1, Hash: "0x1"}, Unconfirmed: chain.None}
	for _, t := range e.transfers {
		if watched.Destination(t.Script) {
			s.Transfers = append(s.Transfers, t)
		}
	}
	return s, nil
}

func TestMoney_on_a_network_that_is_not_offered_is_a_wrong_asset(t *testing.T) {
	t.Parallel()
	store, now := storagetest.SQLite(t), noon
	clock := func() time.Time { return now }
	mainnet := &evm{Network: ethereum.New(ethereum.Mainnet), now: clock}
	base := &evm{Network: ethereum.New(ethereum.Base), now: clock}
	prices, err := rates.ParseFixed(table, "fixed")
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	service := invoice.NewService(invoice.Config{
		Storage: store, Networks: map[invoice.Mode][]chain.Network{invoice.Live: {mainnet, base}},
		Rates: func() invoice.Rates { return prices }, Now: clock, Log: log,
		NewID:  new(tokentest.Counter).ID,
		Encode: func(*invoice.Invoice, invoice.Event) []byte { return []byte("{}") },
	})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(store.CreateShop(t.Context(), merchant.NewShop{Merchant: merchant.Merchant{ID: "m", Name: "Shop", CreatedAt: noon}}))
	key, err := keys.Load("eth:xpub6DCoCpSuQZB2jawqnGMEPS63ePKWkwWPH4TU45Q7LPXWuNd8TMtVxRrgjtEshuqpK3mdhaWHPFsBngh5GFZaM6si3yZdUsT8ddYM3PwnATt")
	must(err)
	watchers := map[*evm]*watcher.Watcher{}
	for _, e := range []*evm{mainnet, base} {
		watchers[e] = watcher.New(watcher.Config{Network: e, Storage: store, Observer: service, Holder: "test", Every: time.Hour, Now: clock, Log: log})
	}
	scan := func(e *evm) {
		t.Helper()
		_, err := watchers[e].Step(t.Context())
		must(err)
	}
	inv, err := service.Create(t.Context(), invoice.CreateRequest{
		MerchantID: "m", Mode: invoice.Live, ExpiresIn: 15 * time.Minute, PaymentMethods: []string{"EURC-BASE"},
		Wallets: []invoice.Wallet{{Asset: "ETH", Key: key.String(), Counter: key.Fingerprint()}},
		Terms:   invoice.Terms{Price: fiat("40"), Rules: invoice.DefaultRules(money.EUR)},
	})
	must(err)
	base.unverified = "EURC-BASE"
	_, err = service.Create(t.Context(), invoice.CreateRequest{
		MerchantID: "m", Mode: invoice.Live, ExpiresIn: 15 * time.Minute, PaymentMethods: []string{"EURC-BASE"},
		Wallets: []invoice.Wallet{{Asset: "ETH", Key: key.String(), Counter: key.Fingerprint()}},
		Terms:   invoice.Terms{Price: fiat("40"), Rules: invoice.DefaultRules(money.EUR)},
	})
	if !errors.Is(err, invoice.ErrNoMethod) {
		t.Errorf("an unverified token: got %v, want ErrNoMethod", err)
	}
	now = now.Add(time.Minute)
	euros := ethereum.Mainnet.Assets[2]
	mainnet.transfers = []chain.Transfer{{
		ID: "0xaa:0", Tx: "0xaa", Asset: euros.Code, Script: inv.Methods[0].Destination.Script, Amount: money.MustParse("40", euros.Currency),
		Block: &chain.Block{Height: 90, Hash: "0x90", Time: now},
	}}
	scan(mainnet)
	scan(base)
	got, err := service.Invoice(t.Context(), inv.ID)
	must(err)
	if got.State.Status != invoice.Created || !got.State.Has(invoice.WrongAsset) {
		t.Errorf("the invoice is %s %v, want created and wrong_asset", got.State.Status, got.State.Exceptions)
	}
	if len(got.Transfers) != 1 || got.Transfers[0].Network != "ethereum" || got.Transfers[0].Asset != "EURC" || got.Transfers[0].Old {
		t.Errorf("transfers %+v", got.Transfers)
	}
	// The expiry depends on Base alone, although Ethereum is not scanned any more.
	now = now.Add(time.Hour)
	scan(base)
	_, err = service.Expire(t.Context(), 10)
	must(err)
	got, err = service.Invoice(t.Context(), inv.ID)
	must(err)
	if got.State.Status != invoice.Expired {
		t.Errorf("the invoice is %s, want expired", got.State.Status)
	}
	err = store.OpenMethods(t.Context(), func(methods []invoice.Method) { t.Errorf("an open invoice has the methods %v", methods) })
	must(err)
}
