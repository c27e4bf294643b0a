package quorum_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/chain/ethereum"
	"chequer/internal/chain/ethereum/quorum"
	"chequer/internal/invoice"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/rates"
	"chequer/internal/storage"
	"chequer/internal/storage/storagetest"
	"chequer/internal/tokentest"
	"chequer/internal/watcher"
)

// etherShop is a shop that accepts the network's native coin. It has a database, an invoice service and a watcher of
// the fake chain.
type etherShop struct {
	*testing.T
	fake    *fakeChain
	nodes   []*node
	store   *storage.Storage
	service *invoice.Service
	quorum  *quorum.Quorum
	scanner *ethereum.Scanner
	watcher *watcher.Watcher
	config  quorum.Config
	key     keys.Key
	ids     tokentest.Counter
	starts  int
}

// fortyEuros is the price of an invoice of 40 euros in ether, in wei.
const fortyEuros = 20_000_000_000_000_000

func openEther(t *testing.T, fake *fakeChain, nodes ...*node) *etherShop {
	t.Helper()
	e := &etherShop{T: t, fake: fake, nodes: nodes, store: storagetest.SQLite(t)}
	e.config = quorum.Config{
		ChainID: chainID, Endpoints: endpoints(nodes...), Now: fake.Now, AddressQueries: true,
		Chance: func() float64 { return 0.5 }, Log: slog.New(slog.DiscardHandler),
	}
	key, err := keys.Load("eth:xpub6DCoCpSuQZB2jawqnGMEPS63ePKWkwWPH4TU45Q7LPXWuNd8TMtVxRrgjtEshuqpK3mdhaWHPFsBngh5GFZaM6si3yZdUsT8ddYM3PwnATt")
	e.must(err)
	e.key = key
	e.must(e.store.CreateShop(t.Context(), merchant.NewShop{Merchant: merchant.Merchant{ID: "m", Name: "Shop", CreatedAt: fake.Now()}}))
	e.start()
	return e
}

func (e *etherShop) must(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

// start starts the program. A second call is a restart after it was killed.
func (e *etherShop) start() {
	e.Helper()
	q, err := quorum.New(e.config)
	e.must(err)
	e.quorum = q
	e.scanner = ethereum.Watch(ethereum.New(params()), q, e.fake.Now)
	prices, err := rates.ParseFixed("ETH-EUR=2000,EURC-EUR=1,USDC-EUR=1,EUR-USD=1", "fixed")
	e.must(err)
	log := slog.New(slog.DiscardHandler)
	e.service = invoice.NewService(invoice.Config{
		Storage: e.store, Networks: map[invoice.Mode][]chain.Network{invoice.Live: {e.scanner}},
		Rates: func() invoice.Rates { return prices }, Now: e.fake.Now, Log: log,
		NewID:  e.ids.ID,
		Encode: func(*invoice.Invoice, invoice.Event) []byte { return []byte("{}") },
	})
	e.watcher = watcher.New(watcher.Config{
		Network: e.scanner, Storage: e.store, Observer: e.service, Holder: fmt.Sprint("process ", e.starts), Every: time.Hour, Now: e.fake.Now, Log: log,
	})
	if e.starts++; e.starts > 1 { // the lease of the former process is taken over only after a step that sees it unchanged
		e.step()
	}
	e.fake.pass(time.Minute)
	e.fake.mineBlock()
}

// step scans once.
func (e *etherShop) step() {
	e.Helper()
	_, err := e.watcher.Step(e.Context())
	e.must(err)
}

// invoice creates an invoice of 40 euros after a scan, and returns its address.
func (e *etherShop) invoice(methods ...string) (inv *invoice.Invoice, address string) {
	e.Helper()
	inv, err := e.service.Create(e.Context(), invoice.CreateRequest{
		MerchantID: "m", Mode: invoice.Live, ExpiresIn: 15 * time.Minute, PaymentMethods: methods,
		Wallets: []invoice.Wallet{{Asset: "ETH", Key: e.key.String(), Counter: e.key.Fingerprint()}},
		Terms:   invoice.Terms{Price: money.MustParse("40", money.EUR), Rules: invoice.DefaultRules(money.EUR)},
	})
	e.must(err)
	return inv, inv.Methods[0].Destination.Address
}

// want scans, and compares status, exceptions and payments: amount, state, block,
// transaction.
func (e *etherShop) want(inv *invoice.Invoice, want ...string) {
	e.Helper()
	e.step()
	_, err := e.service.Expire(e.Context(), 100)
	e.must(err)
	now, err := e.service.Invoice(e.Context(), inv.ID)
	e.must(err)
	got := []string{strings.TrimSpace(fmt.Sprint(now.State.Status, " ", strings.Trim(fmt.Sprint(now.State.Exceptions), "[]")))}
	for _, p := range now.Payments() {
		line := fmt.Sprintf("%s %s", p.Amount, p.State)
		if p.Block != nil {
			line += fmt.Sprint(" in ", p.Block.Height)
		}
		if p.Tx != "" {
			line += " by " + p.Tx[:6]
		}
		got = append(got, line)
	}
	if diff := cmp.Diff(got, want); diff != "" {
		e.Errorf("invoice (-got +want):\n%s", diff)
	}
}

// mine adds a number of blocks.
func (e *etherShop) mine(blocks int) {
	for range blocks {
		e.fake.mineBlock()
	}
}

// contractPays returns a transfer of the network's coin, sent by a contract.
func contractPays(to string, units uint64) transfer { return transfer{to: to, units: units} }

// accountPays returns a transfer of the network's coin, sent by a transaction.
func accountPays(to string, units uint64) transfer {
	return transfer{to: to, units: units, plain: true}
}

func threeNodes(t *testing.T, fake *fakeChain) []*node {
	return []*node{newNode(t, fake), newNode(t, fake), newNode(t, fake)}
}
