package rates_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/shopspring/decimal"

	"chequer/internal/money"
	"chequer/internal/rates"
)

func TestExchanges_parse_their_recorded_responses(t *testing.T) {
	t.Parallel()
	traded := time.Date(2026, 11, 27, 20, 14, 58, 120345000, time.UTC)
	for name, want := range map[string][]rates.Ticker{
		"kraken": {
			ticker("EUR-USD", "1.0801", "1.0802", "1.08015", time.Time{}),
			ticker("BTC-EUR", "79990.1", "79990.2", "79995.5", time.Time{}),
			ticker("ETH-EUR", "2600.01", "2600.5", "2600.2", time.Time{}),
			ticker("LTC-EUR", "78.1", "78.15", "78.12", time.Time{}),
			ticker("BTC-USD", "86400", "86400.1", "86400", time.Time{}),
			ticker("ETH-USD", "2808", "2808.4", "2808.1", time.Time{}),
			ticker("LTC-USD", "84.3", "84.4", "84.35", time.Time{}),
			ticker("USDC-EUR", "0.9257", "0.9259", "0.9258", time.Time{}),
			ticker("USDC-USD", "0.9998", "0.9999", "0.99985", time.Time{}),
			ticker("EURC-EUR", "0.9991", "0.9995", "0.9993", time.Time{}),
			ticker("EURC-USDC", "1.0801", "1.0806", "1.0803", time.Time{}),
			ticker("XMR-USD", "342.4", "342.66", "342.55", time.Time{}),
		},
		"coinbase": {
			ticker("BTC-EUR", "79990.1", "79991", "79995.5", traded),
			ticker("ETH-EUR", "2600.1", "2600.6", "2600.3", traded),
			ticker("LTC-EUR", "78.08", "78.2", "78.1", traded),
			ticker("USDC-EUR", "0.9256", "0.9258", "0.9257", traded),
			ticker("BTC-USD", "86401", "86401.5", "86401.2", traded),
			ticker("ETH-USD", "2808.1", "2808.2", "2808.15", traded),
			ticker("LTC-USD", "84.31", "84.38", "84.33", traded),
			ticker("EURC-USDC", "1.08", "1.0807", "1.0802", traded),
		},
		"bitstamp": {
			ticker("EUR-USD", "1.08", "1.0803", "1.0802", recordedAt),
			ticker("BTC-EUR", "79990.1", "79999", "79995.5", recordedAt),
			ticker("ETH-EUR", "2599.9", "2600.9", "2600.1", recordedAt),
			ticker("LTC-EUR", "78.05", "78.25", "78.11", recordedAt),
			ticker("USDC-EUR", "0.9255", "0.9259", "0.9257", recordedAt),
			ticker("EURC-EUR", "0.999", "0.9996", "0.9992", recordedAt),
			ticker("EURC-USDC", "1.0799", "1.0808", "1.0803", recordedAt),
			ticker("BTC-USD", "86399", "86403", "86400", recordedAt),
			ticker("ETH-USD", "2807.9", "2808.8", "2808.2", recordedAt),
			ticker("LTC-USD", "84.29", "84.41", "84.34", recordedAt),
			ticker("USDC-USD", "0.9997", "0.9999", "0.9998", recordedAt),
		},
		"binance": {
			ticker("BTC-EUR", "79990.1", "79990.9", "79995.5", recordedAt),
			ticker("ETH-EUR", "2600.05", "2600.4", "2600.15", recordedAt),
			ticker("LTC-EUR", "78.07", "78.18", "78.13", recordedAt),
		},
		"bitfinex": {
			ticker("XMR-USD", "342.31", "342.74", "342.52", time.Time{}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := exchanges[slices.IndexFunc(exchanges, func(x exchange) bool { return x.name == name })]
			source := x.make(rates.NewClient(), serve(t, golden(t, read(t, x.file))))
			got, err := source.Fetch(t.Context())
			if err != nil || source.Name() != name {
				t.Errorf("%s has the name %q and the error %v", name, source.Name(), err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("tickers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExchanges_plain_numbers_are_taken_as_digits(t *testing.T) {
	t.Parallel()
	for _, x := range exchanges {
		bid := strings.Trim(x.bid, `"`)
		text := strings.ReplaceAll(read(t, x.file), x.bid, bid+"00000000000001")
		got, err := x.make(rates.NewClient(), serve(t, golden(t, text))).Fetch(t.Context())
		i := slices.IndexFunc(got, func(t rates.Ticker) bool { return t.Pair == x.pair })
		if err != nil || i < 0 || !got[i].Bid.Equal(decimal.RequireFromString(bid)) {
			t.Errorf("%s: got %v, %v; want a bid of %s", x.name, got, err, bid)
		}
	}
}

func TestExchanges_refuse_only_the_pair_with_a_wrong_price(t *testing.T) {
	t.Parallel()
	for _, x := range exchanges {
		text := read(t, x.file)
		tickers, err := x.make(rates.NewClient(), serve(t, golden(t, text))).Fetch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, price := range []string{x.bid, x.last} {
			for _, wrong := range []string{
				`0`, `"0"`, `"0.00"`, `-1`, `"-1"`, `""`, `" "`, `null`, `"null"`, `"NaN"`, `"Infinity"`, `"80,000"`, `"80.000,00"`,
				`"8e4"`, `8e4`, `"0x13880"`, `"+80000"`, `" 80000"`, `"80000 EUR"`, `"79990."`, `".5"`, `true`, `{}`, `[]`, `[80000]`,
				`"79990100"`, `"0.0000125"`, `"12"`, // implausible beside the other two prices
				`"` + strings.Repeat("9", 41) + `"`,
			} {
				t.Run(x.name+" "+wrong, func(t *testing.T) {
					t.Parallel()
					damaged := strings.ReplaceAll(text, price, wrong)
					got, err := x.make(rates.NewClient(), serve(t, golden(t, damaged))).Fetch(t.Context())
					if err == nil || !strings.Contains(err.Error(), x.pair) {
						t.Errorf("error is %v, want one about %s", err, x.pair)
					}
					want := slices.DeleteFunc(slices.Clone(tickers), func(t rates.Ticker) bool { return t.Pair == x.pair })
					if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
						t.Errorf("other pairs (-want +got):\n%s", diff)
					}
				})
			}
		}
	}
}

func TestExchanges_refuse_a_crossed_book(t *testing.T) {
	t.Parallel()
	for _, x := range exchanges {
		text := strings.ReplaceAll(read(t, x.file), x.bid, map[string]string{"BTC-EUR": `"80001.00"`, "XMR-USD": "342.75"}[x.pair])
		_, err := x.make(rates.NewClient(), serve(t, golden(t, text))).Fetch(t.Context())
		if !errors.Is(err, rates.ErrImplausible) {
			t.Errorf("%s: error is %v, want ErrImplausible", x.name, err)
		}
	}
}

func TestExchanges_return_other_pairs_when_one_is_missing(t *testing.T) {
	t.Parallel()
	for name, missing := range map[string]string{
		"kraken": `"XXBTZEUR"`, "coinbase": `"/products/BTC-EUR/ticker"`, "bitstamp": `"/api/v2/ticker/btceur/"`, "binance": `"/api/v3/ticker/24hr?symbol=BTCEUR"`,
	} {
		x := exchanges[slices.IndexFunc(exchanges, func(x exchange) bool { return x.name == name })]
		text := strings.Replace(read(t, x.file), missing, `"gone"`, 1)
		text = strings.Replace(text, `"error": []`, `"error": ["EQuery:Unknown asset pair"]`, 1)
		got, err := x.make(rates.NewClient(), serve(t, golden(t, text))).Fetch(t.Context())
		if err == nil || !strings.Contains(err.Error(), "BTC-EUR") || strings.Contains(err.Error(), "ETH") {
			t.Errorf("%s: error is %v, want one about BTC-EUR only", name, err)
		}
		if slices.ContainsFunc(got, func(t rates.Ticker) bool { return t.Pair == "BTC-EUR" }) || len(got) < 2 {
			t.Errorf("%s: got %v, want the pairs other than BTC-EUR", name, got)
		}
	}
}

func TestKraken_returns_other_groups_when_one_is_refused(t *testing.T) {
	t.Parallel()
	for symbol, pair := range map[string]string{"EURCUSDC": "EURC-USDC", "XXMRZUSD": "XMR-USD"} {
		got, err := rates.NewKraken(rates.NewClient(), serve(t, golden(t, refuseAtKraken(t, read(t, "testdata/kraken.json"), symbol)))).Fetch(t.Context())
		if len(got) != 11 || err == nil || err.Error() != pair+`: not in the answer ["EQuery:Unknown asset pair"]` {
			t.Errorf("got %d tickers, %v; want 11 and an error about %s", len(got), err, pair)
		}
	}
}

// refuseAtKraken returns Kraken's answers with a refusal of the request for a symbol.
func refuseAtKraken(t testing.TB, text, symbol string) string {
	t.Helper()
	refused := strings.Replace(text, `"/0/public/Ticker?pair=`+symbol+`": {
  "error": [],
  "result": {`, `"/0/public/Ticker?pair=`+symbol+`": {
  "error": ["EQuery:Unknown asset pair"],
  "unused": {`, 1)
	if refused == text {
		t.Fatalf("there is no request for %s alone", symbol)
	}
	return refused
}

func TestBitfinex_refuses_answers_without_one_ticker_of_the_symbol(t *testing.T) {
	t.Parallel()
	const ticker = `["tXMRUSD",342.31,412.6,342.74,388.9,4.28,0.0126,342.52,2170.4,347.9,334.05]`
	for answer, want := range map[string]string{
		`[]`:                              "0 tickers in the answer, want one", // the symbol is delisted
		`[` + ticker + `,` + ticker + `]`: "2 tickers in the answer, want one",
		`[["tXMRUST",342.31,412.6,342.74,388.9,4.28,0.0126,342.52,2170.4,347.9,334.05]]`: `requested tXMRUSD, answer has "tXMRUST"`,
		`[["tXMRUSD",342.31,412.6,342.74,388.9,4.28,0.0126]]`:                            "the ticker is cut short",
		`[[]]`:   "the ticker is cut short",
		`[null]`: "the ticker is cut short",
		`[["fUSD",0.0003193369863013699,0.0002401,30,3939629.61,0.00019012,2,307776.15,-0.00005823,-0.2344,0.00019016,122156333.45,0.00027397,6.8e-7,null,null,3441851.73]]`: `requested tXMRUSD, answer has "fUSD"`,
		`["error",10020,"symbol: invalid"]`: "json: cannot unmarshal string into Go value of type []json.RawMessage",
	} {
		got, err := rates.NewBitfinex(rates.NewClient(), serve(t, always(answer))).Fetch(t.Context())
		if len(got) != 0 || err == nil || err.Error() != "XMR-USD: "+want {
			t.Errorf("%s: got %v, %v; want an error %q", answer, got, err, want)
		}
	}
}

func TestBinance_refuses_another_symbol(t *testing.T) {
	t.Parallel()
	text := strings.Replace(read(t, "testdata/binance.json"), `"symbol": "BTCEUR"`, `"symbol": "BTCTRY"`, 1)
	got, err := rates.NewBinance(rates.NewClient(), serve(t, golden(t, text))).Fetch(t.Context())
	if len(got) != 2 || err == nil || err.Error() != `BTC-EUR: requested BTCEUR, answer has "BTCTRY"` {
		t.Errorf("got %v, %v; want two tickers and an error about BTC-EUR", got, err)
	}
}

func TestExchanges_refuse_wrong_times(t *testing.T) {
	t.Parallel()
	for name, wrongs := range map[string][]string{
		"bitstamp": {`""`, `"soon"`, `"1.5"`, `"1e9"`, `null`, `{}`, `"99999999999999"`, `"-99999999999999"`, `"9223372036854775807"`},
		"binance":  {`"1795810500000"`, `1.5`, `1e99`, `9223372036854775807`, `{}`},
		"coinbase": {`""`, `"soon"`, `1795810500`, `"9999-12-31T23:59:59-10:00"`},
	} {
		x := exchanges[slices.IndexFunc(exchanges, func(x exchange) bool { return x.name == name })]
		for _, wrong := range wrongs {
			falsify := strings.NewReplacer(`"1795810500"`, wrong, `1795810500000`, wrong, `"2026-11-27T20:14:58.120345Z"`, wrong)
			text := falsify.Replace(read(t, x.file))
			got, err := x.make(rates.NewClient(), serve(t, golden(t, text))).Fetch(t.Context())
			if len(got) > 0 || err == nil {
				t.Errorf("%s accepted the time %s: %v", name, wrong, got)
			}
		}
	}
}

func TestSources_refuse_invalid_answers(t *testing.T) {
	t.Parallel()
	page := "<!DOCTYPE html><html><body>We will be right back</body></html>"
	for name, handler := range map[string]http.Handler{
		"nothing":        always(""),
		"HTML":           always(page),
		"null":           always("null"),
		"an empty list":  always("[]"),
		"an empty map":   always("{}"),
		"a text":         always(`"80000"`),
		"a number":       always("80000"),
		"cut short":      always(`{"error":[],"result":{"XXBTZEUR":{"a":["79990.20"`),
		"two answers":    always("{}{}"),
		"deep":           always(strings.Repeat("[", 200_000)),
		"invalid UTF-8":  always("{\"bid\":\"\xff\"}"),
		"an empty table": always(`<e:Envelope xmlns:e="http://www.gesmes.org/xml/2002-08-01"><Cube xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref"><Cube time="2026-11-27"/></Cube></e:Envelope>`),
		"403":            status(http.StatusForbidden, page),
		"404":            status(http.StatusNotFound, page),
		"451":            status(http.StatusUnavailableForLegalReasons, "{}"),
		"500":            status(http.StatusInternalServerError, ""),
		"204":            status(http.StatusNoContent, ""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := serve(t, handler)
			for _, source := range allSources(rates.NewClient(), base) {
				got, err := source.Fetch(t.Context())
				if len(got) > 0 || err == nil {
					t.Errorf("%s: got %v, %v; want an error", source.Name(), got, err)
				}
			}
		})
	}
}

func TestECB_returns_the_table(t *testing.T) {
	t.Parallel()
	got, err := rates.NewECB(rates.NewClient(), serve(t, always(read(t, "testdata/ecb.xml")))).Fetch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	published := time.Date(2026, 11, 27, 15, 0, 0, 0, time.UTC)
	want := []rates.Ticker{
		ticker("EUR-USD", "1.0795", "1.0795", "1.0795", published),
		ticker("EUR-JPY", "163.05", "163.05", "163.05", published),
		ticker("EUR-GBP", "0.8412", "0.8412", "0.8412", published),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestECB_refuses_invalid_rates_and_dates(t *testing.T) {
	t.Parallel()
	text := read(t, "testdata/ecb.xml")
	for _, wrong := range []string{"0", "-1", "", "NaN", "1,0795", "1.0795e0", "1079.5", "0.0010795", "0.49", "2.01"} {
		got, err := rates.NewECB(rates.NewClient(), serve(t, always(strings.Replace(text, "1.0795", wrong, 1)))).Fetch(t.Context())
		if len(got) != 2 || err == nil || !strings.Contains(err.Error(), "EUR-USD") {
			t.Errorf("rate %q: got %v, %v; want the other two and an error about EUR-USD", wrong, got, err)
		}
	}
	for _, wrong := range []string{"", "27.11.2026", "2026-13-01"} {
		got, err := rates.NewECB(rates.NewClient(), serve(t, always(strings.Replace(text, "2026-11-27", wrong, 1)))).Fetch(t.Context())
		if len(got) > 0 || err == nil {
			t.Errorf("date %q: got %v, %v; want an error", wrong, got, err)
		}
	}
	repeated := strings.Replace(text, "JPY", "USD", 1)
	if got, err := rates.NewECB(rates.NewClient(), serve(t, always(repeated))).Fetch(t.Context()); len(got) > 0 || err == nil {
		t.Errorf("a currency twice: got %v, %v; want an error", got, err)
	}
	twoDays := strings.Replace(text, "<Cube time=", "<Cube time='2026-11-26'/><Cube time=", 1)
	if got, err := rates.NewECB(rates.NewClient(), serve(t, always(twoDays))).Fetch(t.Context()); len(got) > 0 || err == nil {
		t.Errorf("two days: got %v, %v; want an error", got, err)
	}
}

// See CASES C55: if one source is wrong, the price is that of the others; if all are wrong, there
// is none.
func TestTable_ignores_a_wrong_source(t *testing.T) {
	t.Parallel()
	for _, wrong := range []string{`"0"`, `""`, `null`, `"-1"`, `"NaN"`, `"0.0000125"`, `"80000000"`, `"80,000"`, ``} {
		for _, bad := range append([]string{"all"}, names()...) {
			t.Run(fmt.Sprint(bad, " with ", wrong), func(t *testing.T) {
				t.Parallel()
				var sources []rates.Source
				for _, x := range exchanges {
					text := read(t, x.file)
					if bad == x.name || bad == "all" {
						text = damage(text, wrong)
					}
					sources = append(sources, x.make(rates.NewClient(), serve(t, golden(t, text))))
				}
				table := rates.NewTable(rates.Config{Exchanges: sources, Now: func() time.Time { return recordedAt }, Log: slog.New(slog.DiscardHandler)})
				_ = table.Step(t.Context())
				rate, err := table.Rate("ETH", money.ETH, money.EUR)
				if err != nil || rate.Price() != "2600.03" {
					t.Errorf("the unchanged pair costs %s, %v; want 2600.03", rate.Price(), err)
				}
				rate, err = table.Rate("BTC", money.BTC, money.EUR)
				switch {
				case bad != "all":
					if err != nil || rate.Price() != "79990.1" {
						t.Errorf("price is %s, %v; want 79990.1", rate.Price(), err)
					}
				case wrong == `"0.0000125"` || wrong == `"80000000"`: // sources that agree on a wrong price from the start are used
				case err != nil || rate.Price() != "79981.486": // through the dollar, 86400 / 1.08025
					t.Errorf("price is %s, %v; want 79981.486", rate.Price(), err)
				}
			})
		}
	}
}

func TestTable_has_no_price_when_all_sources_become_wrong(t *testing.T) {
	t.Parallel()
	for _, wrong := range []string{"0.0000125", "80000000", "20000"} {
		f := newFixture()
		f.a.set("BTC-EUR", "80000")
		f.b.set("BTC-EUR", "80100")
		_ = f.Step(t.Context())
		f.a.set("BTC-EUR", wrong)
		f.b.set("BTC-EUR", wrong)
		f.clock.Advance(30 * time.Second)
		_ = f.Step(t.Context())
		if got := f.price("BTC", money.BTC, money.EUR); got != "none" {
			t.Errorf("all sources at %s: price is %s, want none", wrong, got)
		}
	}
}

// damage sets the three prices of BTC-EUR to a wrong value, or removes the pair.
func damage(text, wrong string) string {
	if wrong == "" {
		return strings.NewReplacer(`"XXBTZEUR"`, `"gone"`, `/products/BTC-EUR/`, `gone`, `/btceur/`, `gone`, `=BTCEUR"`, `gone"`).Replace(text)
	}
	for _, price := range []string{"79990.10", "79995.50", "79990.20", "79991.00", "79999", "79990.90"} {
		text = strings.ReplaceAll(text, `"`+price+`"`, wrong)
	}
	return text
}

func names() []string {
	var all []string
	for _, x := range exchanges {
		all = append(all, x.name)
	}
	return all
}

// allSources returns all sources with the same base address.
func allSources(client *http.Client, base string) []rates.Source {
	sources := []rates.Source{rates.NewECB(client, base)}
	for _, x := range exchanges {
		sources = append(sources, x.make(client, base))
	}
	return sources
}

func status(code int, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		w.Write([]byte(body))
	})
}

func ticker(pair, bid, ask, last string, at time.Time) rates.Ticker {
	return rates.Ticker{
		Pair: pair, Bid: decimal.RequireFromString(bid), Ask: decimal.RequireFromString(ask), Last: decimal.RequireFromString(last), Time: at,
	}
}
