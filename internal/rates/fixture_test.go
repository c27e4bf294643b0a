package rates_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"chequer/internal/clocktest"
	"chequer/internal/money"
	"chequer/internal/rates"
)

// recordedAt is when the recorded answers were given.
var recordedAt = time.Date(2026, 11, 27, 20, 15, 0, 0, time.UTC)

var (
	usdc = money.Currency{Code: "USDC", Decimals: 6}
	eurc = money.Currency{Code: "EURC", Decimals: 6}
	gbp  = money.Currency{Code: "GBP", Decimals: 2}
)

// exchange is a source under test, with its constructor, its answers, and a pair with its bid and its last trade as
// they are in the answers. The answers have the formats that the exchanges document.
type exchange struct {
	name string
	file string // request → answer
	make func(*http.Client, string) rates.Source

	pair, bid, last string
}

var exchanges = []exchange{
	{"kraken", "testdata/kraken.json", func(c *http.Client, base string) rates.Source { return rates.NewKraken(c, base) }, "BTC-EUR", `"79990.10"`, `"79995.50"`},
	{"coinbase", "testdata/coinbase.json", func(c *http.Client, base string) rates.Source { return rates.NewCoinbase(c, base) }, "BTC-EUR", `"79990.10"`, `"79995.50"`},
	{"bitstamp", "testdata/bitstamp.json", func(c *http.Client, base string) rates.Source { return rates.NewBitstamp(c, base) }, "BTC-EUR", `"79990.10"`, `"79995.50"`},
	{"binance", "testdata/binance.json", func(c *http.Client, base string) rates.Source { return rates.NewBinance(c, base) }, "BTC-EUR", `"79990.10"`, `"79995.50"`},
	{"bitfinex", "testdata/bitfinex.json", func(c *http.Client, base string) rates.Source { return rates.NewBitfinex(c, base) }, "XMR-USD", `342.31`, `342.52`},
}

func read(t testing.TB, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// golden serves the recorded answer of each request, and 404 for other requests, as exchanges do.
func golden(t testing.TB, text string) http.Handler {
	t.Helper()
	var answers map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &answers); err != nil {
		t.Fatal(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if agent := r.Header.Get("User-Agent"); agent != "chequer" {
			t.Errorf("request of %s has the User-Agent %q", r.URL, agent)
		}
		answer, ok := answers[r.URL.RequestURI()]
		if !ok {
			http.Error(w, `{"message":"NotFound"}`, http.StatusNotFound)
			return
		}
		w.Write(answer)
	})
}

func always(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(text)) })
}

func serve(t testing.TB, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

// scriptedSource is a source whose tickers are set by a test.
type scriptedSource struct {
	name string

	mu       sync.Mutex
	tickers  []rates.Ticker
	err      error
	requests int
	block    chan struct{} // if set, Fetch waits until it is closed or the context ends
}

func (s *scriptedSource) Name() string { return s.name }

func (s *scriptedSource) Fetch(ctx context.Context) ([]rates.Ticker, error) {
	s.mu.Lock()
	block := s.block
	s.requests++
	s.mu.Unlock()
	if block != nil {
		select {
		case <-block:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tickers, s.err
}

// set sets the tickers: pairs and prices in turn. A price may be "bid/ask/last".
func (s *scriptedSource) set(pairs ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tickers, s.err = nil, nil
	for i := 0; i < len(pairs); i += 2 {
		s.tickers = append(s.tickers, flat(pairs[i], pairs[i+1]))
	}
}

func (s *scriptedSource) setError(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tickers, s.err = nil, err
}

func (s *scriptedSource) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// flat returns a ticker with one price for bid, ask and last, or with the prices of "bid/ask/last".
func flat(pair, price string) rates.Ticker {
	if three := strings.Split(price, "/"); len(three) == 3 {
		return ticker(pair, three[0], three[1], three[2], time.Time{})
	}
	p := decimal.RequireFromString(price)
	return rates.Ticker{Pair: pair, Bid: p, Ask: p, Last: p}
}

// fixture is a table with scripted sources and a clock.
type fixture struct {
	*rates.Table
	a, b, c, ecb *scriptedSource
	clock        *clocktest.Clock
}

func newFixture() *fixture {
	f := &fixture{a: &scriptedSource{name: "a"}, b: &scriptedSource{name: "b"}, c: &scriptedSource{name: "c"}, ecb: &scriptedSource{name: "ecb"}, clock: clocktest.New(recordedAt)}
	f.Table = rates.NewTable(rates.Config{
		Exchanges: []rates.Source{f.a, f.b, f.c}, Reference: f.ecb,
		Every: 30 * time.Second, ReferenceEvery: 4 * time.Hour, EuroFloor: decimal.RequireFromString("0.98"),
		Now: f.clock.Now, Jitter: func(d time.Duration) time.Duration { return d }, Log: slog.New(slog.DiscardHandler),
	})
	return f
}

// price returns the rate in plain digits, or "none".
func (f *fixture) price(code string, coin, fiat money.Currency) string {
	rate, err := f.Rate(code, coin, fiat)
	if err != nil {
		return "none"
	}
	return rate.Price()
}
