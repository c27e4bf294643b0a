package rates_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"chequer/internal/money"
	"chequer/internal/rates"
)

func TestRate_derives_prices_through_euro_and_dollar(t *testing.T) {
	t.Parallel()
	euroDollar := []string{"EUR-USD", "1.08"}
	for _, tt := range []struct {
		name    string
		tickers []string // pairs and prices, in turn, of the sources a and b
		ecb     []string
		code    string
		coin    money.Currency
		fiat    money.Currency
		want    string
	}{
		{"in euro", append([]string{"BTC-EUR", "80000"}, euroDollar...), nil, "BTC", money.BTC, money.EUR, "80000"},
		{"in dollars through the euro", append([]string{"BTC-EUR", "80000"}, euroDollar...), nil, "BTC", money.BTC, money.USD, "86400"},
		{"in dollars from their own market", append([]string{"BTC-EUR", "80000", "BTC-USD", "86500"}, euroDollar...), nil, "BTC", money.BTC, money.USD, "86500"},
		{"in euro through the dollar, eight digits", append([]string{"LTC-USD", "84.35"}, euroDollar...), nil, "LTC", money.LTC, money.EUR, "78.101852"},
		{"in euro through the dollar of the reference", []string{"LTC-USD", "84.24"}, euroDollar, "LTC", money.LTC, money.EUR, "78"},
		{"no dollars without EUR-USD", []string{"BTC-EUR", "80000", "BTC-USD", "86400"}, nil, "BTC", money.BTC, money.USD, "none"},
		{"euro without EUR-USD", []string{"BTC-EUR", "80000"}, nil, "BTC", money.BTC, money.EUR, "80000"},
		{"the exchanges' EUR-USD before the reference's", append([]string{"BTC-EUR", "80000"}, euroDollar...), []string{"EUR-USD", "1.1"}, "BTC", money.BTC, money.USD, "86400"},
		{"the reference's EUR-USD if the exchanges have none", []string{"BTC-EUR", "80000"}, []string{"EUR-USD", "1.1"}, "BTC", money.BTC, money.USD, "88000"},
		{"dollars in euro use the high price of EUR-USD", []string{"LTC-USD", "84.24", "EUR-USD", "1.05/1.08/1.06"}, nil, "LTC", money.LTC, money.EUR, "78"},
		{"dollars in euro use the last trade of EUR-USD when it is higher", []string{"LTC-USD", "84.24", "EUR-USD", "1.05/1.06/1.08"}, nil, "LTC", money.LTC, money.EUR, "78"},
		{"euro in dollars use the low price of EUR-USD", []string{"BTC-EUR", "80000", "EUR-USD", "1.05/1.08/1.06"}, nil, "BTC", money.BTC, money.USD, "84000"},
		{"another currency of the reference", []string{"BTC-EUR", "80000"}, []string{"EUR-GBP", "0.84"}, "BTC", money.BTC, gbp, "67200"},
		{"rounded half up to eight digits", []string{"BTC-EUR", "80000.01"}, []string{"EUR-GBP", "0.84125"}, "BTC", money.BTC, gbp, "67300.008"},
		{"through a price in euro that is derived from dollars", append([]string{"LTC-USD", "84.24"}, euroDollar...), []string{"EUR-GBP", "0.84"}, "LTC", money.LTC, gbp, "65.52"},
		{"not from a direct market", []string{"BTC-EUR", "80000", "BTC-GBP", "70000"}, []string{"EUR-GBP", "0.84"}, "BTC", money.BTC, gbp, "67200"},
		{"a currency that the reference leaves out", []string{"BTC-EUR", "80000", "BTC-GBP", "70000"}, []string{"EUR-JPY", "163.05"}, "BTC", money.BTC, gbp, "none"},
		{"a coin without a price in euro", []string{"BTC-GBP", "70000"}, []string{"EUR-GBP", "0.84"}, "BTC", money.BTC, gbp, "none"},
		{"a euro token in another currency", []string{"EURC-EUR", "0.9993"}, []string{"EUR-GBP", "0.84"}, "EURC", eurc, gbp, "0.84"},
		{"below the floor in another currency", []string{"EURC-EUR", "0.9799"}, []string{"EUR-GBP", "0.84"}, "EURC", eurc, gbp, "none"},
		{"a dollar token in euro", append([]string{"USDC-EUR", "0.925"}, euroDollar...), nil, "USDC", usdc, money.EUR, "0.925"},
		{"a dollar token in dollars", append([]string{"USDC-EUR", "0.925", "USDC-USD", "0.9998"}, euroDollar...), nil, "USDC", usdc, money.USD, "0.9998"},
		{"a euro token is a euro", append([]string{"EURC-EUR", "0.9993"}, euroDollar...), nil, "EURC", eurc, money.EUR, "1"},
		{"an expensive euro token is a euro", append([]string{"EURC-EUR", "1.004"}, euroDollar...), nil, "EURC", eurc, money.EUR, "1"},
		{"a euro token in dollars is EUR-USD", append([]string{"EURC-EUR", "0.9993"}, euroDollar...), nil, "EURC", eurc, money.USD, "1.08"},
		{"a euro token watched through the dollar", append([]string{"EURC-USD", "1.079"}, euroDollar...), nil, "EURC", eurc, money.EUR, "1"},
		{"a euro token watched through a dollar token", append([]string{"EURC-USDC", "1.08", "USDC-EUR", "0.925"}, euroDollar...), nil, "EURC", eurc, money.EUR, "1"},
		{"a euro token at the floor", append([]string{"EURC-EUR", "0.98"}, euroDollar...), nil, "EURC", eurc, money.EUR, "1"},
		{"a euro token below the floor", append([]string{"EURC-EUR", "0.9799"}, euroDollar...), nil, "EURC", eurc, money.EUR, "none"},
		{"below the floor through the dollar", append([]string{"EURC-USD", "1.05"}, euroDollar...), nil, "EURC", eurc, money.USD, "none"},
		{"a euro token without a market", euroDollar, nil, "EURC", eurc, money.EUR, "none"},
		{"an unknown coin", euroDollar, nil, "DOGE", money.Currency{Code: "DOGE", Decimals: 8}, money.EUR, "none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture()
			f.a.set(tt.tickers...)
			f.b.set(tt.tickers...)
			f.ecb.set(tt.ecb...)
			for i := range f.ecb.tickers {
				f.ecb.tickers[i].Time = recordedAt.Add(-4 * 24 * time.Hour)
			}
			if err := f.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
			rate, err := f.Rate(tt.code, tt.coin, tt.fiat)
			got := "none"
			if err == nil {
				got = rate.Price()
				if rate.Coin() != tt.coin || rate.Fiat() != tt.fiat {
					t.Errorf("a rate of %v in %v", rate.Coin(), rate.Fiat())
				}
			} else if !errors.Is(err, rates.ErrUnknown) {
				t.Errorf("error is %v, want %v", err, rates.ErrUnknown)
			}
			if got != tt.want {
				t.Errorf("got %s, want %s (%v)", got, tt.want, err)
			}
		})
	}
}

func TestTable_uses_quotations_up_to_their_maximum_age(t *testing.T) {
	t.Parallel()
	f := newFixture()
	price := func() string { return f.price("BTC", money.BTC, money.EUR) }
	step := func() { _ = f.Step(t.Context()) }
	expect := func(moment, want string) {
		t.Helper()
		if got := price(); got != want {
			t.Errorf("%s: got %s, want %s", moment, got, want)
		}
	}
	expect("before the first request", "none")
	f.a.set("BTC-EUR", "80000")
	step()
	expect("one source without an earlier agreement", "none")
	f.b.set("BTC-EUR", "80100")
	step()
	expect("two sources", "80050")

	f.b.setError(errors.New("gone"))
	f.clock.Advance(5 * time.Minute)
	step() // a answers again; b's quotation is five minutes old
	expect("while the quotation of the silent source is recent", "80050")
	f.clock.Advance(time.Second)
	expect("one source", "80000")
	f.a.set("BTC-EUR", "84500")
	step()
	expect("one source with a sudden change", "none")
	f.a.set("BTC-EUR", "81000")
	f.clock.Advance(10*time.Minute - time.Second)
	step()
	expect("one source within 5 %", "81000")
	f.clock.Advance(time.Second)
	step()
	expect("15 minutes after the last quotation of the other", "none")

	f.b.set("BTC-EUR", "81100")
	step()
	expect("two sources again", "81050")
	f.a.setError(errors.New("gone"))
	f.b.setError(errors.New("gone"))
	f.clock.Advance(5*time.Minute + 1)
	step()
	expect("no source for more than five minutes", "none")
}

func TestTable_uses_the_reference_up_to_its_maximum_age(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		age  time.Duration
		rate string
		want string
	}{
		{"four later tables", 4 * 24 * time.Hour, "1.1", "1.1"},
		{"five later tables", 5 * 24 * time.Hour, "1.1", "none"},
		{"a table of the future", -6 * 24 * time.Hour, "1.1", "none"},
		{"far from the last price of the exchanges", 0, "1.45", "none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture()
			f.a.set("EUR-USD", "1.08")
			f.b.set("EUR-USD", "1.08")
			_ = f.Step(t.Context())
			f.clock.Advance(time.Hour) // the exchanges' quotations are too old
			f.a.setError(errors.New("gone"))
			f.b.setError(errors.New("gone"))
			f.ecb.set("EUR-USD", tt.rate)
			f.ecb.tickers[0].Time = f.clock.Now().Add(-tt.age)
			_ = f.Step(t.Context())
			if got := f.price("EUR", money.EUR, money.USD); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestTable_reference_keeps_the_newest_rate_of_each_pair(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for _, tt := range []struct {
		name    string
		tickers []string // pairs and prices, in turn, after a valid table with EUR-USD at 1.1
		age     time.Duration
		want    string
	}{
		{"newer", []string{"EUR-USD", "1.2"}, -day, "1.2"},
		{"corrected", []string{"EUR-USD", "1.2"}, 0, "1.2"},
		{"without the dollar", []string{"EUR-CHF", "0.94"}, 0, "1.1"},
		{"older", []string{"EUR-USD", "1.2"}, 1, "1.1"},
		{"more than a day ahead", []string{"EUR-USD", "1.2"}, -day - 1, "1.1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture()
			f.ecb.set("EUR-USD", "1.1")
			f.ecb.tickers[0].Time = recordedAt
			_ = f.Step(t.Context())
			f.ecb.set(tt.tickers...)
			f.ecb.tickers[0].Time = recordedAt.Add(-tt.age)
			_ = f.Step(t.Context())
			if got := f.price("EUR", money.EUR, money.USD); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestTable_forgets_quotations_received_while_the_clock_was_ahead(t *testing.T) {
	t.Parallel()
	f := newFixture()
	step := func() { _ = f.Step(t.Context()) }
	expect := func(moment, want string) {
		t.Helper()
		if got := f.price("BTC", money.BTC, money.EUR); got != want {
			t.Errorf("%s: got %s, want %s", moment, got, want)
		}
	}
	f.clock.Advance(6 * time.Hour)
	f.a.set("BTC-EUR", "80000")
	f.b.set("BTC-EUR", "80000")
	f.ecb.set("EUR-USD", "1.2")
	f.ecb.tickers[0].Time = recordedAt.Add(30 * time.Hour)
	step()
	expect("while the clock is ahead", "80000")
	f.clock.Advance(-6 * time.Hour)
	for _, s := range []*scriptedSource{f.a, f.b, f.ecb} {
		s.setError(errors.New("gone"))
	}
	step()
	expect("after the clock was set back", "none")
	f.clock.Advance(6 * time.Hour)
	step()
	expect("when the clock reaches that time again", "none")

	f.clock.Advance(-6 * time.Hour)
	f.ecb.set("EUR-USD", "1.1")
	f.ecb.tickers[0].Time = recordedAt
	step()
	if got := f.price("EUR", money.EUR, money.USD); got != "1.1" {
		t.Errorf("current table after one from the future: got %s, want 1.1", got)
	}
}

// Two sources with the same wrong price are the first to answer after a restart.
func TestTable_two_wrong_sources_that_are_first_do_not_outvote_two_others(t *testing.T) {
	t.Parallel()
	f := newFixture()
	d := &scriptedSource{name: "d"}
	config := f.Config
	config.Exchanges = append(config.Exchanges, d)
	f.Table = rates.NewTable(config)
	f.a.set("BTC-EUR", "800000")
	f.b.set("BTC-EUR", "800000")
	_ = f.Step(t.Context())
	f.c.set("BTC-EUR", "80000")
	d.set("BTC-EUR", "80000")
	for range 100 {
		_ = f.Step(t.Context())
		if got := f.price("BTC", money.BTC, money.EUR); got != "none" {
			t.Fatalf("at %s: price of two against two = %s, want none", f.clock.Now(), got)
		}
		f.clock.Advance(time.Minute)
	}
	f.b.set("BTC-EUR", "80000")
	_ = f.Step(t.Context())
	if got := f.price("BTC", money.BTC, money.EUR); got != "80000" {
		t.Errorf("price of three against one = %s, want 80000", got)
	}
}

func TestView_does_not_change(t *testing.T) {
	t.Parallel()
	f := newFixture()
	f.a.set("BTC-EUR", "80000", "EUR-USD", "1.08")
	f.b.set("BTC-EUR", "80000", "EUR-USD", "1.08")
	_ = f.Step(t.Context())
	view := f.View()
	f.a.set("BTC-EUR", "60000")
	f.b.set("BTC-EUR", "60000")
	f.clock.Advance(time.Hour)
	_ = f.Step(t.Context())
	rate, err := view.Rate("BTC", money.BTC, money.EUR)
	if err != nil || rate.Price() != "80000" {
		t.Errorf("price of the view = %s, error %v, want 80000", rate.Price(), err)
	}
	if got := view.Evidence(money.EUR, "BTC").Pairs[0].Price; got != "80000" {
		t.Errorf("price in the evidence of the view = %s, want 80000", got)
	}
}

func TestEvidence_has_the_quotations_of_all_sources(t *testing.T) {
	t.Parallel()
	f := newFixture()
	f.a.set("BTC-EUR", "80000", "EUR-USD", "1.08")
	f.b.set("BTC-EUR", "80100")
	f.c.set("BTC-EUR", "80000000")
	f.b.tickers[0].Ask = decimal.RequireFromString("80200")
	f.ecb.set("EUR-USD", "1.1")
	f.ecb.tickers[0].Time = recordedAt.Add(-time.Hour)
	_ = f.Step(t.Context())
	f.clock.Advance(1500 * time.Microsecond)
	got := f.View().Evidence(money.EUR, "BTC", "LTC").String()
	want := `{"source":"live","at":"2026-11-27T20:15:00.001Z","pairs":[` +
		`{"pair":"BTC-EUR","price":"80050","high":"80100","words":[` +
		`{"source":"a","bid":"80000","ask":"80000","last":"80000","heard":"2026-11-27T20:15:00Z"},` +
		`{"source":"b","bid":"80100","ask":"80200","last":"80100","heard":"2026-11-27T20:15:00Z"},` +
		`{"source":"c","bid":"80000000","ask":"80000000","last":"80000000","heard":"2026-11-27T20:15:00Z","dropped":"absurd"}]},` +
		`{"pair":"EUR-USD","price":"1.1","words":[` +
		`{"source":"a","bid":"1.08","ask":"1.08","last":"1.08","heard":"2026-11-27T20:15:00Z","dropped":"alone"},` +
		`{"source":"ecb","bid":"1.1","ask":"1.1","last":"1.1","heard":"2026-11-27T20:15:00Z","time":"2026-11-27T19:15:00Z"}]}]}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
	var decoded rates.Evidence
	if err := json.Unmarshal([]byte(got), &decoded); err != nil || decoded.String() != got {
		t.Errorf("evidence changes when it is decoded and encoded: %v", err)
	}
}

func TestEvidence_has_the_agreement_that_confirms_a_single_source(t *testing.T) {
	t.Parallel()
	f := newFixture()
	f.a.set("BTC-EUR", "80000")
	f.b.set("BTC-EUR", "80100")
	_ = f.Step(t.Context())
	f.b.setError(errors.New("gone"))
	f.clock.Advance(6 * time.Minute)
	_ = f.Step(t.Context())
	got := f.View().Evidence(money.EUR, "BTC").Pairs
	want := []rates.PairEvidence{{
		Pair: "BTC-EUR", Price: "80000",
		Quotations: []rates.QuotationEvidence{
			{Source: "a", Bid: "80000", Ask: "80000", Last: "80000", ReceivedAt: recordedAt.Add(6 * time.Minute)},
			{Source: "b", Bid: "80100", Ask: "80100", Last: "80100", ReceivedAt: recordedAt, Dropped: "too old"},
		},
		Agreed: &rates.AgreedEvidence{Price: "80050", At: recordedAt},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
}

func TestEvidence_of_another_currency_adds_its_price_in_euro(t *testing.T) {
	t.Parallel()
	f := newFixture()
	f.a.set("BTC-EUR", "80000", "EUR-USD", "1.08")
	f.b.set("BTC-EUR", "80000", "EUR-USD", "1.08")
	f.ecb.set("EUR-GBP", "0.84")
	f.ecb.tickers[0].Time = recordedAt.Add(-time.Hour)
	_ = f.Step(t.Context())
	var got []string
	for _, p := range f.View().Evidence(gbp, "BTC").Pairs {
		got = append(got, p.Pair+" "+p.Price)
	}
	if diff := cmp.Diff([]string{"BTC-EUR 80000", "EUR-USD 1.08", "EUR-GBP 0.84"}, got); diff != "" {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
}

func TestRate_in_another_currency_expires_with_the_table(t *testing.T) {
	t.Parallel()
	f := newFixture()
	f.a.set("BTC-EUR", "80000", "EUR-USD", "1.08")
	f.b.set("BTC-EUR", "80000", "EUR-USD", "1.08")
	f.ecb.set("EUR-GBP", "0.84", "EUR-USD", "1.08")
	for i := range f.ecb.tickers {
		f.ecb.tickers[i].Time = recordedAt
	}
	_ = f.Step(t.Context())
	fifth := time.Date(2026, 12, 4, 15, 0, 0, 0, time.UTC).Sub(recordedAt) // until the fifth later table
	for _, tt := range []struct {
		after time.Duration
		want  string
	}{{0, "67200"}, {fifth - time.Second, "67200"}, {time.Second, "none"}} {
		f.clock.Advance(tt.after)
		_ = f.Step(t.Context())
		if got := f.price("BTC", money.BTC, gbp); got != tt.want {
			t.Errorf("%s after the table: got %s, want %s", f.clock.Now().Sub(recordedAt), got, tt.want)
		}
	}
	if got := f.price("BTC", money.BTC, money.EUR); got != "80000" {
		t.Errorf("in euro: got %s, want 80000", got)
	}
	want := rates.PairReport{Pair: "EUR-GBP", Fault: "no usable quotation"}
	if !slices.Contains(f.Report().Pairs, want) {
		t.Errorf("report = %v, want %v in it", f.Report().Pairs, want)
	}
}

func TestReport_has_all_sources_and_pairs(t *testing.T) {
	t.Parallel()
	f := newFixture()
	f.a.set("BTC-EUR", "80000")
	f.b.set("BTC-EUR", "80100")
	f.c.setError(errors.New("connect:\nrefused"))
	f.ecb.set("EUR-USD", "1.1")
	f.ecb.tickers[0].Time = recordedAt
	_ = f.Step(t.Context())
	f.clock.Advance(time.Minute)
	f.b.setError(errors.New("gone"))
	_ = f.Step(t.Context())
	got := f.Report()
	later := recordedAt.Add(time.Minute)
	want := rates.Report{
		Sources: []rates.SourceReport{
			{Name: "a", AttemptedAt: later, ReceivedAt: later, Quotations: []rates.QuotationReport{{Pair: "BTC-EUR", Bid: "80000", Last: "80000"}}},
			{Name: "b", AttemptedAt: later, ReceivedAt: recordedAt, Age: time.Minute, Fault: "gone", Quotations: []rates.QuotationReport{
				{Pair: "BTC-EUR", Bid: "80100", Last: "80100", Age: time.Minute},
			}},
			{Name: "c", AttemptedAt: later, Fault: "connect:; refused"},
			{Name: "ecb", AttemptedAt: later, ReceivedAt: later, Quotations: []rates.QuotationReport{{Pair: "EUR-USD", Bid: "1.1", Last: "1.1", Time: recordedAt}}},
		},
		Pairs: []rates.PairReport{{Pair: "BTC-EUR", Price: "80050"}, {Pair: "EUR-USD", Price: "1.1"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}
