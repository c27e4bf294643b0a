package sale_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"chequer/internal/chain"
	"chequer/internal/exchange"
	"chequer/internal/exchange/exchangetest"
	"chequer/internal/invoice"
	"chequer/internal/logtest"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/rates"
	"chequer/internal/sale"
	"chequer/internal/seal"
	"chequer/internal/storage"
	"chequer/internal/storage/engine"
	"chequer/internal/storage/storagetest"
	"chequer/internal/wire"
)

// timer is a clock that tests can advance.
type timer interface {
	Now() time.Time
	Advance(duration time.Duration)
}

// bubble is the clock of a synctest bubble.
type bubble struct{}

func (bubble) Now() time.Time                 { return time.Now().UTC().Truncate(time.Millisecond) }
func (bubble) Advance(duration time.Duration) { time.Sleep(duration) }

// fixture has a merchant who sells coins, an exchange and a worker, with real storage and a simulated
// network.
type fixture struct {
	t        testing.TB
	url      string
	clock    timer
	storage  *storage.Storage
	invoices *invoice.Service
	exchange *exchangetest.Server
	client   exchange.Exchange
	accounts *sale.Accounts
	worker   *sale.Worker
	log      *logtest.Journal
	ids      atomic.Int64 // number of identifiers that were created
	height   int64
	sequence int64
	shown    []chain.Transfer // transfers on the network; a negative height means removed
	scripts  map[string]invoice.Owner
}

// onEach runs a test with both exchanges, in a synctest bubble, on SQLite.
func onEach(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	t.Parallel()
	for _, name := range []string{"kraken", "bitstamp"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := storagetest.File(t)
			synctest.Test(t, func(t *testing.T) { test(t, newFixture(t, url, bubble{}, name)) })
		})
	}
}

// newFixture returns a new fixture whose merchant sells BTC and ETH, and holds 1 BTC and 10 ETH at the
// exchange.
func newFixture(t testing.TB, url string, clock timer, name string) *fixture {
	t.Helper()
	f := &fixture{t: t, url: url, clock: clock, exchange: exchangetest.New(t, clock.Now), log: &logtest.Journal{}, height: 100, scripts: map[string]invoice.Owner{}}
	f.client = exchange.NewKraken(exchangetest.URL, f.exchange)
	if name == "bitstamp" {
		f.client = exchange.NewBitstamp(exchangetest.URL, f.exchange, clock.Now)
	}
	f.exchange.Deposit("BTC", "1")
	f.exchange.Deposit("ETH", "10")
	f.open()
	ctx := context.Background()
	if err := f.storage.CreateShop(ctx, merchant.NewShop{Merchant: merchant.Merchant{ID: "m", Name: "Shop", CreatedAt: clock.Now()}}); err != nil && !errors.Is(err, merchant.ErrExists) {
		t.Fatal(err)
	}
	_, err := f.accounts.Add(ctx, "m", name, exchangetest.Key, exchangetest.Secret, sale.Settings{Coins: []string{"BTC", "ETH"}, Smallest: "5", Slippage: 200})
	if err == nil {
		_, err = f.accounts.Switch(ctx, "m", true)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// open restarts the program, as after a crash: only its storage remains.
func (f *fixture) open() {
	f.t.Helper()
	box, err := seal.New(bytes.Repeat([]byte{1}, seal.KeySize))
	if err != nil {
		f.t.Fatal(err)
	}
	s, err := storage.Open(context.Background(), f.url, box, storage.Options{})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		if err := s.Close(); err != nil && !errors.Is(err, engine.ErrClosed) {
			f.t.Errorf("close: %v", err)
		}
	})
	f.use(s)
}

// use creates the program on a storage.
func (f *fixture) use(s *storage.Storage) {
	f.t.Helper()
	fixed, err := rates.ParseFixed("BTC-EUR=86420.00,ETH-EUR=2650.10,USDC-EUR=0.925,EUR-USD=1.08", "fixed")
	if err != nil {
		f.t.Fatal(err)
	}
	f.storage = s
	log := slog.New(slog.NewTextHandler(f.log, nil))
	f.invoices = invoice.NewService(invoice.Config{
		Storage: s, Networks: map[invoice.Mode][]chain.Network{invoice.Live: {network{}}, invoice.Test: {network{}}}, Unwatched: true,
		Rates: func() invoice.Rates { return fixed }, Now: f.clock.Now, NewID: func() string { return fmt.Sprintf("%032d", f.ids.Add(1)) },
		Encode: wire.Event, Log: log,
	})
	f.accounts = sale.NewAccounts(sale.AccountsConfig{
		Storage: s, Exchanges: []exchange.Exchange{f.client}, Now: f.clock.Now, Token: func(n int) string { return fmt.Sprintf("%0*d", n, f.ids.Add(1)) },
	})
	f.worker = f.newWorker(s, f.invoices)
}

func (f *fixture) newWorker(s sale.Storage, invoices sale.Invoices) *sale.Worker {
	return sale.New(sale.Config{
		Storage: s, Invoices: invoices, Exchanges: []exchange.Exchange{f.client}, Now: f.clock.Now, Log: slog.New(slog.NewTextHandler(f.log, nil)),
	})
}

// network offers BTC, ETH, USDC and EURC at simulated addresses.
type network struct{}

var usdc, eurc = money.Currency{Code: "USDC", Decimals: 6}, money.Currency{Code: "EURC", Decimals: 6}

func (network) ID() chain.ID { return "bitcoin" }

func (network) Assets() []chain.Asset {
	var assets []chain.Asset
	for _, c := range []money.Currency{money.BTC, money.ETH, usdc, eurc} {
		assets = append(assets, chain.Asset{
			Code: c.Code, Symbol: c.Code, Network: "bitcoin", Currency: c, Wallet: "BTC", Rate: c.Code, Dust: money.Zero(c),
			Policy: chain.Policy{Mempool: true, Depth: []chain.Depth{{Confirmations: 1}}},
		})
	}
	wrapped := assets[0] // a token that is priced as a coin
	wrapped.Code, wrapped.Symbol, wrapped.Currency = "WBTC", "WBTC", money.Currency{Code: "WBTC", Decimals: 8}
	wrapped.Dust = money.Zero(wrapped.Currency)
	return append(assets, wrapped)
}

func (network) NewDestination(r chain.Request) (chain.Destination, error) {
	script := fmt.Sprintf("%s-%d", r.Asset.Code, r.Index)
	return chain.Destination{Address: script, Script: script}, nil
}

// create creates an invoice of an amount in euro; change may set another currency.
func (f *fixture) create(amount string, change ...func(*invoice.CreateRequest)) *invoice.Invoice {
	f.t.Helper()
	price := money.MustParse(amount, money.EUR)
	r := invoice.CreateRequest{
		MerchantID: "m", Mode: invoice.Live, Wallets: []invoice.Wallet{{Asset: "BTC", Key: "k", Counter: "c"}}, ExpiresIn: 15 * time.Minute,
		Terms: invoice.Terms{
			Price: price, Rules: invoice.DefaultRules(money.EUR),
			Sale: invoice.SaleTerms{Coins: []string{"BTC", "ETH"}, Smallest: money.MustParse("5", invoice.SaleEuro), Slippage: 200},
		},
	}
	for _, c := range change {
		c(&r)
	}
	inv, err := f.invoices.Create(context.Background(), r)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, m := range inv.Methods {
		f.scripts[m.Destination.Script] = invoice.Owner{InvoiceID: inv.ID, MerchantID: "m"}
	}
	return inv
}

// pay adds a confirmed payment of an amount in a separate block.
func (f *fixture) pay(inv *invoice.Invoice, asset, amount string) (tx string) {
	f.t.Helper()
	m, known := inv.Method("bitcoin", asset)
	if !known {
		f.t.Fatalf("%s is not offered", asset)
	}
	f.height++
	tx = fmt.Sprintf("tx%d", f.ids.Add(1))
	f.shown = append(f.shown, chain.Transfer{
		ID: tx + ":0", Tx: tx, Asset: asset, Script: m.Destination.Script, Amount: money.MustParse(amount, m.Asset.Currency), Spends: []string{tx + "-in:0"},
		Block: &chain.Block{Height: f.height, Hash: fmt.Sprint("block", f.height, tx), Time: f.clock.Now()},
	})
	f.scan()
	return tx
}

// payUnconfirmed adds a firm unconfirmed payment, which mine puts into a block.
func (f *fixture) payUnconfirmed(inv *invoice.Invoice, asset, amount string) (mine func()) {
	f.t.Helper()
	m, _ := inv.Method("bitcoin", asset)
	tx := fmt.Sprintf("tx%d", f.ids.Add(1))
	f.shown = append(f.shown, chain.Transfer{
		ID: tx + ":0", Tx: tx, Asset: asset, Script: m.Destination.Script, Amount: money.MustParse(amount, m.Asset.Currency), Spends: []string{tx + "-in:0"},
		FirstSeen: f.clock.Now(), Firm: true,
	})
	i := len(f.shown) - 1
	f.scan()
	return func() {
		f.height++
		f.shown[i].Firm, f.shown[i].Block = false, &chain.Block{Height: f.height, Hash: fmt.Sprint("block", f.height, tx), Time: f.clock.Now()}
		f.scan()
	}
}

// reorganise removes a transaction from the network, or adds it again.
func (f *fixture) reorganise(tx string, remove bool) {
	f.t.Helper()
	for _, t := range f.shown {
		if isRemoved := t.Block != nil && t.Block.Height < 0; t.Tx == tx && isRemoved != remove {
			t.Block.Height = -1 - t.Block.Height
		}
	}
	f.scan()
}

// scan passes the network's transfers to the invoices.
func (f *fixture) scan() {
	f.t.Helper()
	ctx := context.Background()
	epoch, err := f.storage.AcquireLease(ctx, "bitcoin", "test", f.clock.Now(), 30*time.Second)
	if err != nil {
		f.t.Fatal(err)
	}
	f.sequence++
	tip := chain.Block{Height: f.height, Hash: fmt.Sprint("tip", f.height), Time: f.clock.Now()}
	s := chain.Snapshot{Started: f.clock.Now(), From: chain.Cursor{Height: 1, Hash: "one"}, Tip: tip, Next: chain.Cursor{Height: 1, Hash: "one"}, Unconfirmed: chain.Partial}
	for _, t := range f.shown {
		if t.Block == nil {
			s.Unconfirmed = chain.Complete
		}
		if t.Block == nil || t.Block.Height >= 0 {
			s.Transfers = append(s.Transfers, t)
		}
	}
	lease := invoice.Lease{Network: "bitcoin", Epoch: epoch, Sequence: f.sequence}
	owners := func(script string) (invoice.Owner, bool) { o, known := f.scripts[script]; return o, known }
	progress := invoice.Progress{Sequence: f.sequence}.After(s, f.sequence)
	if err := f.invoices.Observe(ctx, lease, s, progress, owners); err != nil {
		f.t.Fatal(err)
	}
	if err := f.storage.SaveProgress(ctx, lease, progress); err != nil {
		f.t.Fatal(err)
	}
}

// step runs the worker until nothing is due.
func (f *fixture) step() {
	f.t.Helper()
	for range 50 {
		done, err := f.worker.Step(context.Background())
		if err != nil {
			f.t.Fatalf("step: %v", err)
		}
		if done == 0 {
			return
		}
	}
	f.t.Fatal("sales remain due after 50 steps")
}

// settle runs the worker for a duration: every 15 seconds, and after an hour every 10 minutes.
func (f *fixture) settle(duration time.Duration) {
	f.t.Helper()
	interval := 15 * time.Second
	for start := f.clock.Now(); f.clock.Now().Before(start.Add(duration)); f.clock.Advance(interval) {
		f.step()
		if f.clock.Now().Sub(start) > time.Hour {
			interval = 10 * time.Minute
		}
	}
	f.step()
}

// read returns an invoice.
func (f *fixture) read(id string) *invoice.Invoice {
	f.t.Helper()
	inv, err := f.invoices.Invoice(context.Background(), id)
	if err != nil {
		f.t.Fatal(err)
	}
	return inv
}

// sale returns an invoice's sale of a coin.
func (f *fixture) sale(id, coin string) *invoice.Sale {
	f.t.Helper()
	s, known := f.read(id).Sale(coin)
	if !known {
		f.t.Fatalf("no sale of %s", coin)
	}
	return s
}

// describe describes the state of a sale.
func describe(s *invoice.Sale) string {
	sold := s.Sold()
	return fmt.Sprintf("%s %s sold %s of %s for %s fee %s in %d", s.State, s.Reason, sold.Sold, s.Amount, sold.Euro, sold.Fee, len(s.Orders))
}

// want fails the test unless describe returns the given text for a sale.
func (f *fixture) want(id, coin, want string) {
	f.t.Helper()
	if got := describe(f.sale(id, coin)); got != want {
		f.t.Errorf("got  %s\nwant %s", got, want)
	}
	f.checkNotOversold(id)
}

// checkNotOversold fails the test if the exchange sold more than the invoices received.
func (f *fixture) checkNotOversold(ids ...string) {
	f.t.Helper()
	received := map[string]*big.Rat{}
	for _, id := range ids {
		for _, c := range f.read(id).Sales {
			if received[c.Coin] == nil {
				received[c.Coin] = new(big.Rat)
			}
			received[c.Coin].Add(received[c.Coin], c.Amount.Rat())
		}
	}
	for _, coin := range []string{"BTC", "ETH", "USDC", "LTC"} {
		sold, _ := new(big.Rat).SetString(f.exchange.Sold(coin))
		if bound := received[coin]; bound == nil && sold.Sign() > 0 || bound != nil && sold.Cmp(bound) > 0 {
			f.t.Errorf("the exchange sold %s %s, but %v was received", f.exchange.Sold(coin), coin, bound)
		}
	}
}

// events returns the types and bodies of an invoice's events about sales.
func (f *fixture) events(id string) (types []invoice.EventType, bodies []string) {
	f.t.Helper()
	all, err := f.storage.Events(context.Background(), "m", invoice.Live, 0, 1000)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, e := range all {
		if (e.Type == invoice.EventSaleFilled || e.Type == invoice.EventSaleFailed) && bytes.Contains(e.Body, []byte(id)) {
			types, bodies = append(types, e.Type), append(bodies, string(e.Body))
		}
	}
	return types, bodies
}

// createPaid creates an invoice of 56.50 euro and pays it in BTC.
func (f *fixture) createPaid() *invoice.Invoice {
	f.t.Helper()
	inv := f.create("56.50")
	f.pay(inv, "BTC", "0.00065379")
	return inv
}

// placeCall returns the name of the call that places an order.
func (f *fixture) placeCall() string {
	if f.client.Name() == "bitstamp" {
		return "sell/btceur"
	}
	return "AddOrder"
}

func (f *fixture) resolver() sale.Resolver {
	return sale.Resolver{Invoices: f.invoices, Now: f.clock.Now}
}
