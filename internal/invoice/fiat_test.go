package invoice_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/invoice"
	"chequer/internal/money"
)

var (
	franc = money.Currency{Code: "CHF", Decimals: 2}
	yen   = money.Currency{Code: "JPY"}
)

// fiatTable adds francs and yen to table: one bitcoin costs 76,000 francs or 12,800,000 yen.
const fiatTable = table + ",EUR-CHF=0.95,EUR-JPY=160"

// requestIn returns a request for an amount of a currency, payable in bitcoin.
func (s *shop) requestIn(amount string, c money.Currency) invoice.CreateRequest {
	r := s.request("1", "BTC")
	r.Terms.Price, r.Terms.Rules = money.MustParse(amount, c), invoice.DefaultRules(c)
	return r
}

func (s *shop) createIn(amount string, c money.Currency) *invoice.Invoice {
	s.t.Helper()
	inv, err := s.service.Create(s.t.Context(), s.requestIn(amount, c))
	s.must(err)
	return inv
}

func TestPrice_in_another_currency_is_frozen(t *testing.T) {
	t.Parallel()
	s := openShop(t, fiatTable)
	for _, tt := range []struct {
		amount   string
		currency money.Currency
		want     []string // expected amount; rates in euro, dollars and the invoice's currency, "0" if that is euro or dollar
	}{
		{"38", franc, []string{"0.0005", "80000", "86400", "76000"}},
		{"6400", yen, []string{"0.0005", "80000", "86400", "12800000"}},
		{"37.99", franc, []string{"0.00049987", "80000", "86400", "76000"}},
		{"40", money.EUR, []string{"0.0005", "80000", "86400", "0"}},
		{"43.20", money.USD, []string{"0.0005", "80000", "86400", "0"}},
	} {
		inv := s.reload(s.createIn(tt.amount, tt.currency))
		p := inv.Quote().Prices[0]
		got := []string{p.Expected.String(), p.EUR.Price(), p.USD.Price(), p.Other.Price()}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.amount, tt.currency.Code, diff)
		}
		if rate := p.Rate(tt.currency); rate.Fiat() != tt.currency {
			t.Errorf("%s: priced in %s", tt.currency.Code, rate.Fiat().Code)
		}
	}
}

// The state of an invoice depends on its frozen rate. Later changes of the rate have no effect.
func TestInvoice_in_another_currency_is_evaluated_at_its_frozen_rate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		sent       string
		want       invoice.Status
		exceptions []invoice.Exception
		sums       []string // paid, due, overpaid
	}{
		{"exactly", "0.0005", invoice.Paid, nil, []string{"6400", "0", "0"}},
		{"too little", "0.00049999", invoice.Pending, []invoice.Exception{invoice.Underpaid}, []string{"6399", "1", "0"}},
		{"half", "0.00025", invoice.Pending, []invoice.Exception{invoice.Underpaid}, []string{"3200", "3200", "0"}},
		{"too much", "0.00051", invoice.Paid, []invoice.Exception{invoice.Overpaid}, []string{"6400", "0", "128"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t, fiatTable)
			inv := s.createIn("6400", yen)
			s.setRates("BTC-EUR=9000,EUR-USD=2,EUR-JPY=7")
			s.clock.Advance(time.Minute)
			s.must(s.net.Confirm(t.Context(), []string{s.pay(inv, "BTC", tt.sent)}))
			state := s.wantStatus(inv, tt.want, tt.exceptions...).State
			got := []string{state.Paid.String(), state.Due.String(), state.Overpaid.String()}
			if diff := cmp.Diff(tt.sums, got); diff != "" {
				t.Errorf("paid, due, overpaid (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTolerance_is_in_the_currency_of_the_invoice(t *testing.T) {
	t.Parallel()
	s := openShop(t, fiatTable)
	r := s.requestIn("6400", yen)
	r.Terms.Rules.Tolerance = money.MustParse("64", yen)
	inv, err := s.service.Create(t.Context(), r)
	s.must(err)
	s.clock.Advance(time.Minute)
	s.must(s.net.Confirm(t.Context(), []string{s.pay(inv, "BTC", "0.000495")}))
	s.wantStatus(inv, invoice.Paid)
}

func TestSmallest_amount_is_in_the_currency_of_the_invoice(t *testing.T) {
	t.Parallel()
	s := openShop(t, fiatTable)
	for _, tt := range []struct {
		tooSmall, smallest string
		currency           money.Currency
	}{{"0.41", "0.42", franc}, {"69", "70", yen}} {
		_, err := s.service.Create(t.Context(), s.requestIn(tt.tooSmall, tt.currency))
		var small *invoice.TooSmallError
		if want := money.MustParse(tt.smallest, tt.currency); !errors.As(err, &small) || !small.Smallest.Equal(want) {
			t.Errorf("%s %s: %v, want smallest %s", tt.tooSmall, tt.currency.Code, err, want)
		}
		s.createIn(tt.smallest, tt.currency)
	}
}

// The required confirmations depend on the value in euro at the frozen rate.
func TestDepth_is_the_same_in_every_currency(t *testing.T) {
	t.Parallel()
	s := openShop(t, fiatTable)
	for _, tt := range []struct {
		amount   string
		currency money.Currency
		want     int
	}{
		{"79999", yen, 1}, {"80001", yen, 2}, // 500 euro
		{"474.99", franc, 1}, {"475.01", franc, 2},
		{"800001", yen, 6}, // 5,000 euro
	} {
		inv := s.createIn(tt.amount, tt.currency)
		price := inv.Quote().Prices[0].Expected
		s.clock.Advance(time.Minute)
		s.must(s.net.Confirm(t.Context(), []string{s.pay(inv, "BTC", price.String())}))
		s.step()
		got := s.reload(inv)
		if required, shown := got.Transfers[0].Required, got.Confirmations(got.Methods[0]); required != tt.want || shown != tt.want {
			t.Errorf("%s %s: %d confirmations required and %d shown, want %d", tt.amount, tt.currency.Code, required, shown, tt.want)
		}
	}
}

// Late money counts without a decision if it is worth at least 95 % of the price in the invoice's currency.
func TestLate_money_is_valued_in_the_currency_of_the_invoice(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		table      string
		want       invoice.Status
		exceptions []invoice.Exception
	}{
		{"value unchanged", "BTC-EUR=80000,EUR-USD=1.08,EUR-CHF=0.91", invoice.Paid, nil},
		{"value unchanged only in francs", "BTC-EUR=70000,EUR-USD=1.08,EUR-CHF=1.05", invoice.Paid, nil},
		{"the franc rose", "BTC-EUR=80000,EUR-USD=1.08,EUR-CHF=0.9", invoice.Expired, []invoice.Exception{invoice.Late}},
		{"the franc has no price", "BTC-EUR=80000,EUR-USD=1.08", invoice.Expired, []invoice.Exception{invoice.Late}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t, fiatTable)
			r := s.requestIn("38", franc)
			r.Terms.AllowPaidExpired = true
			inv, err := s.service.Create(t.Context(), r)
			s.must(err)
			s.clock.Advance(16 * time.Minute)
			s.wantStatus(inv, invoice.Expired)
			s.setRates(tt.table)
			s.must(s.net.Confirm(t.Context(), []string{s.pay(inv, "BTC", "0.0005")}))
			s.wantStatus(inv, tt.want, tt.exceptions...)
		})
	}
}

func TestCurrency_without_rate_has_no_quote(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	if _, err := s.service.Create(t.Context(), s.requestIn("38", franc)); !errors.Is(err, invoice.ErrNoRate) {
		t.Errorf("without EUR-CHF: %v, want %v", err, invoice.ErrNoRate)
	}
}
