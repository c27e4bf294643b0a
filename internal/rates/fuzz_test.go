package rates_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"chequer/internal/money"
	"chequer/internal/rates"
)

func FuzzKraken(f *testing.F)   { fuzz(f, exchanges[0]) }
func FuzzCoinbase(f *testing.F) { fuzz(f, exchanges[1]) }
func FuzzBitstamp(f *testing.F) { fuzz(f, exchanges[2]) }
func FuzzBinance(f *testing.F)  { fuzz(f, exchanges[3]) }
func FuzzBitfinex(f *testing.F) { fuzz(f, exchanges[4]) }

func FuzzECB(f *testing.F) {
	f.Add([]byte(read(f, "testdata/ecb.xml")))
	f.Fuzz(func(t *testing.T, body []byte) {
		checkTickers(t, rates.NewECB(clientWith(body), "http://ecb.test"))
	})
}

// fuzz answers every request with the same bytes. Any resulting ticker must be valid, and table,
// evidence and report must not fail.
func fuzz(f *testing.F, x exchange) {
	var answers map[string]json.RawMessage
	if err := json.Unmarshal([]byte(read(f, x.file)), &answers); err != nil {
		f.Fatal(err)
	}
	for _, a := range answers {
		f.Add([]byte(a))
	}
	f.Fuzz(func(t *testing.T, body []byte) { checkTickers(t, x.make(clientWith(body), "http://exchange.test")) })
}

func clientWith(body []byte) *http.Client {
	client := rates.NewClient()
	client.Transport = roundTripperFunc(func(*http.Request) (*http.Response, error) { return answer(body), nil })
	return client
}

func checkTickers(t *testing.T, source rates.Source) {
	got, _ := source.Fetch(t.Context())
	for _, ticker := range got {
		if ticker.Bid.Sign() <= 0 || ticker.Last.Sign() <= 0 || ticker.Ask.LessThan(ticker.Bid) {
			t.Errorf("%s: %+v", source.Name(), ticker)
		}
	}
	table := rates.NewTable(rates.Config{
		Exchanges: []rates.Source{source, copiedSource{source}}, Reference: source, Now: func() time.Time { return recordedAt },
		EuroFloor: decimal.New(98, -2), Log: slog.New(slog.DiscardHandler),
	})
	_ = table.Step(t.Context())
	for _, code := range []string{"BTC", "USDC", "EURC", "XMR"} {
		for _, fiat := range []money.Currency{money.EUR, money.USD, gbp} {
			if rate, err := table.Rate(code, money.Currency{Code: code, Decimals: 8}, fiat); err == nil && rate.IsZero() {
				t.Errorf("%s costs nothing", code)
			}
		}
	}
	_ = table.View().Evidence(gbp, "BTC", "USDC", "EURC", "XMR").String()
	table.Report()
}

// copiedSource repeats the tickers of a source under another name, so that two sources agree.
type copiedSource struct{ rates.Source }

func (copiedSource) Name() string { return "twin" }
