package rates_test

import (
	"bytes"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/clocktest"
	"chequer/internal/money"
	"chequer/internal/rates"
)

// moneroTable is a table of all sources with recorded answers, some of which a test changes.
type moneroTable struct {
	*rates.Table
	clock   *clocktest.Clock
	answers map[string]*switched // by the name of the exchange
}

// switched is a handler that a test can replace.
type switched struct{ handler atomic.Pointer[http.Handler] }

func (s *switched) set(h http.Handler) { s.handler.Store(&h) }

func (s *switched) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	(*s.handler.Load()).ServeHTTP(w, r)
}

func newMoneroTable(t *testing.T, log *slog.Logger) *moneroTable {
	t.Helper()
	m := &moneroTable{clock: clocktest.New(recordedAt), answers: map[string]*switched{}}
	var sources []rates.Source
	for _, x := range exchanges {
		m.answers[x.name] = &switched{}
		m.answers[x.name].set(golden(t, read(t, x.file)))
		sources = append(sources, x.make(rates.NewClient(), serve(t, m.answers[x.name])))
	}
	m.Table = rates.NewTable(rates.Config{
		Exchanges: sources, Reference: rates.NewECB(rates.NewClient(), serve(t, always(read(t, "testdata/ecb.xml")))),
		Now: m.clock.Now, Log: log,
	})
	return m
}

// prices returns the price of every pair that has one, and of XMR in euro, in dollars and in pounds.
func (m *moneroTable) prices() map[string]string {
	prices := map[string]string{}
	for _, p := range m.Report().Pairs {
		if p.Price != "" {
			prices[p.Pair] = p.Price
		}
	}
	for _, fiat := range []money.Currency{money.EUR, money.USD, gbp} {
		if rate, err := m.Rate("XMR", money.XMR, fiat); err == nil {
			prices["XMR-"+fiat.Code] = rate.Price()
		} else if !errors.Is(err, rates.ErrUnknown) {
			prices["XMR-"+fiat.Code] = err.Error()
		}
	}
	return prices
}

func TestTable_prices_XMR_only_if_two_sources_agree(t *testing.T) {
	t.Parallel()
	delist := func(t *testing.T, m *moneroTable, name string) {
		t.Helper()
		m.answers["bitfinex"].set(always("[]"))
		if name == "kraken" {
			m.answers["kraken"].set(golden(t, refuseAtKraken(t, read(t, "testdata/kraken.json"), "XXMRZUSD")))
		}
	}
	bitfinexAt := func(m *moneroTable, bid, ask, last string) {
		m.answers["bitfinex"].set(always(`[["tXMRUSD",` + bid + `,1,` + ask + `,1,0,0,` + last + `,1,1,1]]`))
	}
	agreed := map[string]string{
		"XMR-USD": "342.355",   // the lower of the median bid and the median last trade
		"XMR-EUR": "316.92201", // 342.355 / 1.08025, the high price of EUR-USD
		"XMR-GBP": "266.59479", // 316.92201 × 0.8412
	}
	for _, tt := range []struct {
		name   string
		change func(*testing.T, *moneroTable)
		want   map[string]string // of XMR
	}{
		{"both", func(*testing.T, *moneroTable) {}, agreed},
		{"near each other", func(_ *testing.T, m *moneroTable) { bitfinexAt(m, "330", "331", "330.5") },
			map[string]string{"XMR-USD": "336.2", "XMR-EUR": "311.22425", "XMR-GBP": "261.80184"}},
		{"only Kraken", func(t *testing.T, m *moneroTable) { delist(t, m, "bitfinex") }, nil},
		{"only Bitfinex", func(t *testing.T, m *moneroTable) {
			delist(t, m, "kraken")
			m.answers["bitfinex"].set(golden(t, read(t, "testdata/bitfinex.json")))
		}, nil},
		{"over 5 % apart", func(_ *testing.T, m *moneroTable) { bitfinexAt(m, "320", "321", "320.5") }, nil},
		{"Bitfinex ten times higher", func(_ *testing.T, m *moneroTable) { bitfinexAt(m, "3423.1", "3427.4", "3425.2") }, nil},
		{"an empty order book", func(_ *testing.T, m *moneroTable) { bitfinexAt(m, "null", "null", "342.52") }, nil},
		{"Bitfinex does not answer", func(_ *testing.T, m *moneroTable) {
			m.answers["bitfinex"].set(status(http.StatusInternalServerError, `["error",20060,"maintenance"]`))
		}, nil},
		{"both delisted", func(t *testing.T, m *moneroTable) { delist(t, m, "kraken") }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := newMoneroTable(t, slog.New(slog.DiscardHandler))
			_ = m.Step(t.Context())
			others := m.prices()
			for pair := range agreed {
				delete(others, pair)
			}
			if len(others) < 12 {
				t.Fatalf("prices of other pairs: %v", others)
			}

			m = newMoneroTable(t, slog.New(slog.DiscardHandler))
			tt.change(t, m)
			_ = m.Step(t.Context())
			want := maps.Clone(others)
			maps.Copy(want, tt.want)
			if diff := cmp.Diff(want, m.prices()); diff != "" {
				t.Errorf("prices (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTable_prices_XMR_from_one_source_for_15_minutes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"kraken", "bitfinex"} {
		t.Run(name+" remains", func(t *testing.T) {
			t.Parallel()
			m := newMoneroTable(t, slog.New(slog.DiscardHandler))
			_ = m.Step(t.Context())
			want := map[string]string{"kraken": "342.4", "bitfinex": "342.31"}[name]
			if name == "kraken" {
				m.answers["bitfinex"].set(always("[]"))
			} else {
				m.answers["kraken"].set(golden(t, refuseAtKraken(t, read(t, "testdata/kraken.json"), "XXMRZUSD")))
			}
			m.clock.Advance(15 * time.Minute)
			_ = m.Step(t.Context())
			if got := m.prices()["XMR-USD"]; got != want {
				t.Errorf("15 minutes after the agreement: got %q, want %s", got, want)
			}
			m.clock.Advance(time.Second)
			_ = m.Step(t.Context())
			if got := m.prices(); got["XMR-USD"] != "" || got["XMR-EUR"] != "" || got["BTC-EUR"] == "" {
				t.Errorf("later: got %v, want a price of BTC and none of XMR", got)
			}
		})
	}
}

// A line about a source that quotes only XMR names the coin. A delisted market of another source is not logged.
func TestLog_of_delisted_markets_of_XMR(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	m := newMoneroTable(t, slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})))
	_ = m.Step(t.Context())
	out.Reset()
	step := func() {
		for range 3 {
			m.clock.Advance(30 * time.Second)
			_ = m.Step(t.Context())
		}
	}
	m.answers["kraken"].set(golden(t, refuseAtKraken(t, read(t, "testdata/kraken.json"), "XXMRZUSD")))
	step()
	m.answers["bitfinex"].set(always("[]"))
	step()
	m.answers["kraken"].set(golden(t, read(t, "testdata/kraken.json")))
	m.answers["bitfinex"].set(golden(t, read(t, "testdata/bitfinex.json")))
	step()
	m.answers["bitfinex"].set(always(`[["tXMRUSD",250,1,251,1,0,0,250,1,1,1]]`)) // within 30 % of the agreement, but over 5 % below
	step()
	want := []string{
		`level=WARN msg="rate source does not answer" source=bitfinex only=XMR error="XMR-USD: 0 tickers in the answer, want one"`,
		`level=INFO msg="rate source answers" source=bitfinex only=XMR pairs=1`,
		`level=WARN msg="rate source contradicts the others" source=kraken pairs=XMR-USD`,
	}
	if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(out.String()), "\n")); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestReport_names_the_coin_of_a_source_that_quotes_only_one(t *testing.T) {
	t.Parallel()
	got := map[string]string{}
	for _, s := range newMoneroTable(t, slog.New(slog.DiscardHandler)).Report().Sources {
		got[s.Name] = s.Coin
	}
	want := map[string]string{"kraken": "", "coinbase": "", "bitstamp": "", "binance": "", "ecb": "", "bitfinex": "XMR"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("coins (-want +got):\n%s", diff)
	}
}

func TestLive_polls_every_source_that_has_recorded_answers(t *testing.T) {
	t.Parallel()
	var got []string
	for _, s := range rates.Live(rates.NewClient()).Exchanges {
		got = append(got, s.Name())
	}
	if diff := cmp.Diff(names(), got); diff != "" {
		t.Errorf("exchanges (-want +got):\n%s", diff)
	}
}
