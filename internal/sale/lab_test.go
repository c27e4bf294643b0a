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
	Pass(duration time.Duration)
}

// bubble is the clock of a synctest bubble.
type bubble struct{}

func (bubble) Now() time.Time              { return time.Now().UTC().Truncate(time.Millisecond) }
func (bubble) Pass(duration time.Duration) { time.Sleep(duration) }

// lab has a merchant who sells coins, an exchange and a worker, with real storage and a simulated
// network.
type lab struct {
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
func onEach(t *testing.T, test func(t *testing.T, l *lab)) {
	t.Helper()
	t.Parallel()
	for _, name := range []string{"kraken", "bitstamp"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := storagetest.File(t)
			synctest.Test(t, func(t *testing.T) { test(t, newLab(t, url, bubble{}, name)) })
		})
	}
}

// newLab returns a new lab whose merchant sells BTC and ETH, and holds 1 BTC and 10 ETH at the
// exchange.
func newLab(t testing.TB, url string, clock timer, name string) *lab {
	t.Helper()
	l := &lab{t: t, url: url, clock: clock, exchange: exchangetest.New(t, clock.Now), log: &logtest.Journal{}, height: 100, scripts: map[string]invoice.Owner{}}
	l.client = exchange.NewKraken(exchangetest.URL, l.exchange)
	if name == "bitstamp" {
		l.client = exchange.NewBitstamp(exchangetest.URL, l.exchange, clock.Now)
	}
	l.exchange.Deposit("BTC", "1")
	l.exchange.Deposit("ETH", "10")
	l.open()
	ctx := context.Background()
	if err := l.storage.CreateShop(ctx, merchant.NewShop{Merchant: merchant.Merchant{ID: "m", Name: "Shop", CreatedAt: clock.Now()}}); err != nil && !errors.Is(err, merchant.ErrExists) {
		t.Fatal(err)
	}
	_, err := l.accounts.Add(ctx, "m", name, exchangetest.Key, exchangetest.Secret, sale.Settings{Coins: []string{"BTC", "ETH"}, Smallest: "5", Slippage: 200})
	if err == nil {
		_, err = l.accounts.Switch(ctx, "m", true)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// open restarts the program, as after a crash: only its storage remains.
func (l *lab) open() {
	l.t.Helper()
	box, err := seal.New(bytes.Repeat([]byte{1}, seal.KeySize))
	if err != nil {
		l.t.Fatal(err)
	}
	s, err := storage.Open(context.Background(), l.url, box, storage.Options{})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		if err := s.Close(); err != nil && !errors.Is(err, engine.ErrClosed) {
			l.t.Errorf("close: %v", err)
		}
	})
	l.use(s)
}

// use creates the program on a storage.
func (l *lab) use(s *storage.Storage) {
	l.t.Helper()
	fixed, err := rates.ParseFixed("BTC-EUR=86420.00,ETH-EUR=2650.10,USDC-EUR=0.925,EUR-USD=1.08", "fixed")
	if err != nil {
		l.t.Fatal(err)
	}
	l.storage = s
	log := slog.New(slog.NewTextHandler(l.log, nil))
	l.invoices = invoice.NewService(invoice.Config{
		Storage: s, Networks: map[invoice.Mode][]chain.Network{invoice.Live: {network{}}, invoice.Test: {network{}}}, Unwatched: true,
		Rates: func() invoice.Rates { return fixed }, Now: l.clock.Now, NewID: func() string { return fmt.Sprintf("%032d", l.ids.Add(1)) },
		Encode: wire.Event, Log: log,
	})
	l.accounts = sale.NewAccounts(sale.AccountsConfig{
		Storage: s, Exchanges: []exchange.Exchange{l.client}, Now: l.clock.Now, Token: func(n int) string { return fmt.Sprintf("%0*d", n, l.ids.Add(1)) },
	})
	l.worker = l.newWorker(s, l.invoices)
}

func (l *lab) newWorker(s sale.Storage, invoices sale.Invoices) *sale.Worker {
	return sale.New(sale.Config{
		Storage: s, Invoices: invoices, Exchanges: []exchange.Exchange{l.client}, Now: l.clock.Now, Log: slog.New(slog.NewTextHandler(l.log, nil)),
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
func (l *lab) create(amount string, change ...func(*invoice.CreateRequest)) *invoice.Invoice {
	l.t.Helper()
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
	inv, err := l.invoices.Create(context.Background(), r)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, m := range inv.Methods {
		l.scripts[m.Destination.Script] = invoice.Owner{InvoiceID: inv.ID, MerchantID: "m"}
	}
	return inv
}

// pay adds a confirmed payment of an amount in a separate block.
func (l *lab) pay(inv *invoice.Invoice, asset, amount string) (tx string) {
	l.t.Helper()
	m, known := inv.Method("bitcoin", asset)
	if !known {
		l.t.Fatalf("%s is not offered", asset)
	}
	l.height++
	tx = fmt.Sprintf("tx%d", l.ids.Add(1))
	l.shown = append(l.shown, chain.Transfer{
		ID: tx + ":0", Tx: tx, Asset: asset, Script: m.Destination.Script, Amount: money.MustParse(amount, m.Asset.Currency), Spends: []string{tx + "-in:0"},
		Block: &chain.Block{Height: l.height, Hash: fmt.Sprint("block", l.height, tx), Time: l.clock.Now()},
	})
	l.scan()
	return tx
}

// reorganise removes a transaction from the network, or adds it again.
func (l *lab) reorganise(tx string, remove bool) {
	l.t.Helper()
	for _, t := range l.shown {
		if isRemoved := t.Block.Height < 0; t.Tx == tx && isRemoved != remove {
			t.Block.Height = -1 - t.Block.Height
		}
	}
	l.scan()
}

// scan passes the network's transfers to the invoices.
func (l *lab) scan() {
	l.t.Helper()
	ctx := context.Background()
	epoch, err := l.storage.AcquireLease(ctx, "bitcoin", "lab", l.clock.Now(), 30*time.Second)
	if err != nil {
		l.t.Fatal(err)
	}
	l.sequence++
	tip := chain.Block{Height: l.height, Hash: fmt.Sprint("tip", l.height), Time: l.clock.Now()}
	s := chain.Snapshot{Started: l.clock.Now(), From: chain.Cursor{Height: 1, Hash: "one"}, Tip: tip, Next: chain.Cursor{Height: 1, Hash: "one"}, Unconfirmed: chain.Partial}
	for _, t := range l.shown {
		if t.Block.Height >= 0 {
			s.Transfers = append(s.Transfers, t)
		}
	}
	lease := invoice.Lease{Network: "bitcoin", Epoch: epoch, Sequence: l.sequence}
	owners := func(script string) (invoice.Owner, bool) { o, known := l.scripts[script]; return o, known }
	progress := invoice.Progress{Sequence: l.sequence}.After(s, l.sequence)
	if err := l.invoices.Observe(ctx, lease, s, progress, owners); err != nil {
		l.t.Fatal(err)
	}
	if err := l.storage.SaveProgress(ctx, lease, progress); err != nil {
		l.t.Fatal(err)
	}
}

// step runs the worker until nothing is due.
func (l *lab) step() {
	l.t.Helper()
	for range 50 {
		done, err := l.worker.Step(context.Background())
		if err != nil {
			l.t.Fatalf("step: %v", err)
		}
		if done == 0 {
			return
		}
	}
	l.t.Fatal("sales remain due after 50 steps")
}

// settle runs the worker for a duration: every 15 seconds, and after an hour every 10 minutes.
func (l *lab) settle(duration time.Duration) {
	l.t.Helper()
	interval := 15 * time.Second
	for start := l.clock.Now(); l.clock.Now().Before(start.Add(duration)); l.clock.Pass(interval) {
		l.step()
		if l.clock.Now().Sub(start) > time.Hour {
			interval = 10 * time.Minute
		}
	}
	l.step()
}

// read returns an invoice.
func (l *lab) read(id string) *invoice.Invoice {
	l.t.Helper()
	inv, err := l.invoices.Invoice(context.Background(), id)
	if err != nil {
		l.t.Fatal(err)
	}
	return inv
}

// sale returns an invoice's sale of a coin.
func (l *lab) sale(id, coin string) *invoice.Sale {
	l.t.Helper()
	s, known := l.read(id).Sale(coin)
	if !known {
		l.t.Fatalf("no sale of %s", coin)
	}
	return s
}

// describe describes the state of a sale.
func describe(s *invoice.Sale) string {
	sold := s.Sold()
	return fmt.Sprintf("%s %s sold %s of %s for %s fee %s in %d", s.State, s.Reason, sold.Sold, s.Amount, sold.Euro, sold.Fee, len(s.Orders))
}

// want fails the test unless describe returns the given text for a sale.
func (l *lab) want(id, coin, want string) {
	l.t.Helper()
	if got := describe(l.sale(id, coin)); got != want {
		l.t.Errorf("got  %s\nwant %s", got, want)
	}
	l.checkNotOversold(id)
}

// checkNotOversold fails the test if the exchange sold more than the invoices received.
func (l *lab) checkNotOversold(ids ...string) {
	l.t.Helper()
	received := map[string]*big.Rat{}
	for _, id := range ids {
		for _, c := range l.read(id).Sales {
			if received[c.Coin] == nil {
				received[c.Coin] = new(big.Rat)
			}
			received[c.Coin].Add(received[c.Coin], c.Amount.Rat())
		}
	}
	for _, coin := range []string{"BTC", "ETH", "USDC", "LTC"} {
		sold, _ := new(big.Rat).SetString(l.exchange.Sold(coin))
		if bound := received[coin]; bound == nil && sold.Sign() > 0 || bound != nil && sold.Cmp(bound) > 0 {
			l.t.Errorf("the exchange sold %s %s, but %v was received", l.exchange.Sold(coin), coin, bound)
		}
	}
}

// events returns the types and bodies of an invoice's events about sales.
func (l *lab) events(id string) (types []invoice.EventType, bodies []string) {
	l.t.Helper()
	all, err := l.storage.Events(context.Background(), "m", invoice.Live, 0, 1000)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, e := range all {
		if (e.Type == invoice.EventSaleFilled || e.Type == invoice.EventSaleFailed) && bytes.Contains(e.Body, []byte(id)) {
			types, bodies = append(types, e.Type), append(bodies, string(e.Body))
		}
	}
	return types, bodies
}

// paid creates an invoice of 56.50 euro and pays it in BTC.
func (l *lab) paid() *invoice.Invoice {
	l.t.Helper()
	inv := l.create("56.50")
	l.pay(inv, "BTC", "0.00065379")
	return inv
}

// place returns the name of the call that places an order.
func (l *lab) place() string {
	if l.client.Name() == "bitstamp" {
		return "sell/btceur"
	}
	return "AddOrder"
}

func (l *lab) resolver() sale.Resolver { return sale.Resolver{Invoices: l.invoices, Now: l.clock.Now} }
