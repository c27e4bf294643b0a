package exchange_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/exchange"
	"chequer/internal/exchange/exchangetest"
	"chequer/internal/money"
)

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func TestMarket_and_Balance_return_the_terms_and_the_coins(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *fixture) {
		m, err := f.exchange.Market(t.Context(), "BTC")
		if err != nil {
			t.Fatal(err)
		}
		if !m.Open || m.Lot != 8 || m.Tick.String() != "0.01" || m.Bid.String() != "86420" || m.MinValue.IsZero() {
			t.Errorf("got market %+v", m)
		}
		f.Status("cancel_only")
		if m, err = f.exchange.Market(t.Context(), "BTC"); err != nil || m.Open {
			t.Errorf("closed: got %+v, error %v", m, err)
		}
		b, err := f.exchange.Balance(t.Context(), f.account, "BTC")
		if err != nil || b.Total.String() != "1" || b.Available.String() != "1" {
			t.Errorf("got balance %+v, error %v", b, err)
		}
		if _, err := f.exchange.Market(t.Context(), "EURC"); !errors.Is(err, exchange.ErrNoMarket) {
			t.Errorf("EURC: got error %v, want %v", err, exchange.ErrNoMarket)
		}
	})
}

func TestPlace_sells_at_the_bid(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *fixture) {
		for _, test := range []struct{ fill, amount, limit, sold, euro, fee string }{
			{"1", "0.00065379", "84691.6", "0.00065379", "56.50053", "0.226"},
			{"0.5", "0.02", "86000", "0.01", "864.2", "3.4568"},
			{"1", "0.01", "90000", "0", "0", "0"}, // no buyer at that price
		} {
			f.Fill(test.fill)
			o := f.order(test.amount, test.limit)
			if _, err := f.exchange.Find(t.Context(), f.account, o, ""); !errors.Is(err, exchange.ErrNotFound) {
				t.Errorf("before: got error %v, want %v", err, exchange.ErrNotFound)
			}
			ref, err := f.exchange.Place(t.Context(), f.account, o)
			if err != nil {
				t.Fatal(err)
			}
			for _, orderRef := range []string{ref, ""} {
				out, err := f.exchange.Find(t.Context(), f.account, o, orderRef)
				got := []string{out.Sold.String(), out.Euro.String(), out.Fee.String(), out.Ref, fmt.Sprint(out.Open)}
				if diff := cmp.Diff([]string{test.sold, test.euro, test.fee, ref, "false"}, got); err != nil || diff != "" {
					t.Errorf("%+v, found by %q: error %v (-want +got):\n%s", test, orderRef, err, diff)
				}
			}
		}
	})
}

// After any fault, an order that may have been accepted is never reported as refused, and it is
// found afterwards if it was accepted.
func TestPlace_never_reports_a_refusal_of_an_order_that_may_be_accepted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault    exchangetest.Fault
		accepted bool
	}{
		"500":                    {exchangetest.Status(500), false},
		"500 after the order":    {exchangetest.StatusAfter(500), true},
		"502 after the order":    {exchangetest.StatusAfter(http.StatusBadGateway), true},
		"closed":                 {exchangetest.Drop, false},
		"closed after the order": {exchangetest.DropAfter, true},
		"a redirect":             {exchangetest.Redirect, false},
		"101":                    {exchangetest.Upgrade, false},
		"an endless answer":      {exchangetest.Oversize, true},
		"no JSON":                {exchangetest.ProcessAndRespond(200, "<html>maintenance</html>"), true},
		"an empty answer":        {exchangetest.ProcessAndRespond(200, ""), true},
		"an empty object":        {exchangetest.ProcessAndRespond(200, "{}"), true},
		"null":                   {exchangetest.ProcessAndRespond(200, "null"), true},
		"a number":               {exchangetest.ProcessAndRespond(200, "7"), true},
		"unknown words":          {exchangetest.ProcessAndRespond(200, `{"error":["EGalaxy:Imploded"],"status":"error","reason":"The galaxy imploded"}`), true},
		"an internal error":      {exchangetest.ProcessAndRespond(200, `{"error":["EGeneral:Internal error"],"status":"error","response_code":"500.016"}`), true},
		"unavailable":            {exchangetest.ProcessAndRespond(200, `{"error":["EService:Unavailable"],"status":"error","response_code":"500.002"}`), true},
		"a deadline error":       {exchangetest.ProcessAndRespond(200, `{"error":["EService:Deadline elapsed"],"status":"error","response_code":"500.003"}`), true},
		"a duplicate name":       {exchangetest.ProcessAndRespond(200, `{"error":["EOrder:cl_ord_id already exists"],"status":"error","response_code":"400.019"}`), true},
		"no name of the order":   {exchangetest.ProcessAndRespond(200, `{"error":[],"result":{"txid":[]},"market":"BTC/EUR"}`), true},
		"two names of an order":  {exchangetest.ProcessAndRespond(200, `{"error":[],"result":{"txid":["A","B"]},"id":null}`), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, f *fixture) {
				f.Next(f.calls["place"], test.fault)
				o := f.order("0.01", "86000")
				ref, err := f.exchange.Place(t.Context(), f.account, o)
				if refusal, ok := errors.AsType[*exchange.RefusedError](err); err == nil || ok {
					t.Fatalf("got %q, error %v (%v), want an error other than a refusal", ref, err, refusal)
				}
				out, err := f.exchange.Find(t.Context(), f.account, o, "")
				if test.accepted && (err != nil || out.Sold.String() != "0.01") || !test.accepted && !errors.Is(err, exchange.ErrNotFound) {
					t.Errorf("found %+v, error %v, want accepted %t", out, err, test.accepted)
				}
			})
		})
	}
}

func TestPlace_reports_a_refusal(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "kraken")
	for words, kind := range map[string]exchange.Kind{
		"EOrder:Insufficient funds": exchange.KindFunds, "EOrder:Order minimum not met": exchange.KindMinimum, "EOrder:Cost minimum not met": exchange.KindMinimum,
		"EAPI:Rate limit exceeded": exchange.KindBusy, "EOrder:Rate limit exceeded": exchange.KindBusy, "EGeneral:Temporary lockout": exchange.KindBusy,
		"EAPI:Invalid nonce": exchange.KindNonce, "EAPI:Invalid key": exchange.KindKey, "EGeneral:Permission denied": exchange.KindKey,
		"EService:Market in cancel_only mode": exchange.KindMaintenance, "EOrder:Tick size check failed": exchange.KindOther,
	} {
		f.Next("AddOrder", exchangetest.Respond(200, `{"error":["`+words+`"]}`))
		_, err := f.exchange.Place(t.Context(), f.account, f.order("0.01", "86000"))
		if refusal, ok := errors.AsType[*exchange.RefusedError](err); !ok || refusal.Kind != kind || refusal.Message != words {
			t.Errorf("%s: got error %v, want refused as %s", words, err, kind)
		}
	}
	b := newFixture(t, "bitstamp")
	for answer, kind := range map[string]exchange.Kind{
		`{"status":"error","reason":{"__all__":["You have only 0.00100000 BTC available. Check your account balance for details."]}}`: exchange.KindFunds,
		`{"status":"error","reason":{"__all__":["Minimum order size is 10.0 EUR."]}}`:                                                 exchange.KindMinimum,
		`{"status":"error","response_code":"400.020"}`:                                                                                exchange.KindMinimum,
		`{"status":"error","reason":{"price":["Price is more than 20% below market price."]}}`:                                        exchange.KindPrice,
		`{"response_code":"400.002","response_explanation":"Request rejected due to exceeded rate limit."}`:                           exchange.KindBusy,
		`{"status":"error","reason":"Invalid nonce","code":"API0004"}`:                                                                exchange.KindNonce,
		`{"status":"error","reason":"No permission found","code":"API0003"}`:                                                          exchange.KindKey,
		`{"error":"Bitstamp.net is under scheduled maintenance. We'll be back soon."}`:                                                exchange.KindMaintenance,
		`{"status":"error","response_code":"403.004"}`:                                                                                exchange.KindKey,
		`{"status":"error","response_code":"400.038"}`:                                                                                exchange.KindOther,
	} {
		b.Next("sell/btceur", exchangetest.Respond(http.StatusBadRequest, answer))
		_, err := b.exchange.Place(t.Context(), b.account, b.order("0.01", "86000"))
		if refusal, ok := errors.AsType[*exchange.RefusedError](err); !ok || refusal.Kind != kind {
			t.Errorf("%s: got error %v, want refused as %s", answer, err, kind)
		}
	}
	b.Next("sell/btceur", exchangetest.Status(http.StatusTooManyRequests))
	_, err := b.exchange.Place(t.Context(), b.account, b.order("0.01", "86000"))
	if refusal, ok := errors.AsType[*exchange.RefusedError](err); !ok || refusal.Kind != exchange.KindBusy {
		t.Errorf("429: got error %v", err)
	}
}

// Proceeds above the price of any market are refused, and so are amounts with more digits than
// storage can read.
func TestFigures_that_are_too_large_are_refused(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *fixture) {
		o := f.order("0.01", "86000")
		ref, err := f.exchange.Place(t.Context(), f.account, o)
		if err != nil {
			t.Fatal(err)
		}
		cost := map[string]string{"kraken": `"cost":"864.20000"`, "bitstamp": `"eur":"864.20000"`}[f.exchange.Name()]
		for _, figure := range []string{"86420.00000", "8642000000000000", strings.Repeat("9", 40)} {
			f.Next(f.calls["find"], exchangetest.Falsify(cost, strings.Replace(cost, "864.20000", figure, 1)))
			if out, err := f.exchange.Find(t.Context(), f.account, o, ref); !errors.Is(err, exchange.ErrContradiction) {
				t.Errorf("%s EUR: got %+v, error %v, want %v", figure, out, err, exchange.ErrContradiction)
			}
		}
		f.Deposit("BTC", strings.Repeat("9", 30))
		if b, err := f.exchange.Balance(t.Context(), f.account, "BTC"); !errors.Is(err, exchange.ErrContradiction) {
			t.Errorf("balance: got %+v, error %v, want %v", b, err, exchange.ErrContradiction)
		}
	})
}

func TestBalance_counts_coins_on_hold_and_in_earning_programmes(t *testing.T) {
	t.Parallel()
	for _, coin := range []string{"BTC", "ETH", "LTC", "USDC"} {
		f := newFixture(t, "kraken")
		f.Deposit(coin, "9")
		f.SetEarning(coin, "F", "4") // traded under the base asset
		f.SetEarning(coin, "B", "2") // bonded
		total := "9"
		if coin == "BTC" {
			total = "10"
		}
		b, err := f.exchange.Balance(t.Context(), f.account, coin)
		want := money.MustParse(total, exchange.Coin(coin)).Sub(money.MustParse("2", exchange.Coin(coin)))
		if err != nil || b.Total.String() != total || !b.Available.Equal(want) {
			t.Errorf("%s: got balance %+v, error %v, want %s in all, %s available", coin, b, err, total, want)
		}
	}
}

// The exchange itself refuses an order that arrives too late.
func TestPlace_is_refused_after_the_deadline(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *fixture) {
		o := f.order("0.01", "86000")
		_, windowEnd := f.exchange.Window(o.CreatedAt)
		f.clock.Advance(windowEnd.Sub(o.CreatedAt))
		if _, err := f.exchange.Place(t.Context(), f.account, o); err == nil {
			t.Error("the order was accepted")
		}
		if accepted, _ := f.Orders(); accepted > 0 {
			t.Errorf("the exchange accepted %d orders, want none", accepted)
		}
	})
}

func TestExamine_reports_the_permissions_of_a_key(t *testing.T) {
	t.Parallel()
	allPermissions := []string{"query-funds", "query-open-trades", "query-closed-trades", "modify-trades"}
	onBoth(t, func(t *testing.T, f *fixture) {
		s, err := f.exchange.Examine(t.Context(), f.account)
		if err != nil || len(s.Missing)+len(s.Withdraw)+len(s.Unknown) > 0 {
			t.Errorf("a key that may sell: got %+v, error %v", s, err)
		}
		f.Permit(append(slices.Clone(allPermissions), "withdraw-funds")...)
		if s, err = f.exchange.Examine(t.Context(), f.account); err != nil || len(s.Withdraw) == 0 {
			t.Errorf("a key that may withdraw: got %+v, error %v", s, err)
		}
		for _, lacks := range []string{"query-funds", "query-open-trades", "modify-trades"} {
			f.Permit(slices.DeleteFunc(slices.Clone(allPermissions), func(p string) bool { return p == lacks })...)
			if s, err = f.exchange.Examine(t.Context(), f.account); err != nil || len(s.Missing) == 0 {
				t.Errorf("a key without %s: got %+v, error %v", lacks, s, err)
			}
		}
		f.Permit(allPermissions...)
		first := "GetApiKeyInfo"
		if f.exchange.Name() == "bitstamp" {
			first = "btc_withdrawal"
		}
		f.Next(first, exchangetest.Status(500))
		if s, err = f.exchange.Examine(t.Context(), f.account); err == nil {
			t.Errorf("an exchange without an answer: got %+v and no error", s)
		}
	})
	f := newFixture(t, "kraken")
	for _, permission := range []string{"add-withdraw-address", "update-withdraw-address"} {
		f.Permit(append(slices.Clone(allPermissions), permission)...)
		if s, err := f.exchange.Examine(t.Context(), f.account); err != nil || len(s.Withdraw) != 1 {
			t.Errorf("%s: got %+v, error %v", permission, s, err)
		}
	}
	f.Permit(append(slices.Clone(allPermissions), "beam-funds")...)
	if s, err := f.exchange.Examine(t.Context(), f.account); err != nil || len(s.Unknown) != 1 {
		t.Errorf("an unknown permission: got %+v, error %v", s, err)
	}
	f.Permit()
	if s, err := f.exchange.Examine(t.Context(), f.account); err == nil {
		t.Errorf("no permissions in the answer: got %+v and no error", s)
	}
}

func TestCalls_with_wrong_credentials_are_refused(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *fixture) {
		for name, change := range map[string]func(*exchange.Account){
			"another key":      func(a *exchange.Account) { a.Key = "x" },
			"another secret":   func(a *exchange.Account) { a.Secret = base64.StdEncoding.EncodeToString([]byte("guess")) },
			"a repeated nonce": func(a *exchange.Account) { a.Nonce = func() int64 { return 1 } },
		} {
			a := f.account
			change(&a)
			_, _ = f.exchange.Balance(t.Context(), a, "BTC")
			_, err := f.exchange.Balance(t.Context(), a, "BTC")
			if refusal, ok := errors.AsType[*exchange.RefusedError](err); !ok || refusal.Kind != exchange.KindKey && refusal.Kind != exchange.KindNonce {
				t.Errorf("%s: got error %v, want it refused", name, err)
			}
			if strings.Contains(fmt.Sprint(err), a.Secret) {
				t.Errorf("%s: the error holds the secret: %v", name, err)
			}
		}
	})
}

// The example of https://docs.kraken.com/exchange/guides/rest/authentication
func TestKrakenSign_matches_the_published_example(t *testing.T) {
	t.Parallel()
	secret, err := base64.StdEncoding.DecodeString("kQH5HW/8p1uGOVjbgWA7FunAmGO8lsSUXNsu3eow76sz84Q18fWxnyRzBHCd3pd5nE9qa99HAZtuZuj6F1huXg==")
	if err != nil {
		t.Fatal(err)
	}
	got := exchange.KrakenSign(secret, "/0/private/AddOrder", "1616492376594", "nonce=1616492376594&ordertype=limit&pair=XBTUSD&price=37500&type=buy&volume=1.25")
	if want := "4/dpxb3iT4tp/ZCVEwSnEsLxx0bqyhLpdfOpc6fn7OR8+UClSV5n9E6aSS8MPtnRfp32bAb0nmbRn6H8ndwLUQ=="; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestBitstamp_refuses_an_answer_with_a_wrong_signature(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "bitstamp")
	f.Next("account_balances", func(_ *exchangetest.Server, w http.ResponseWriter, _ *http.Request, _ func() exchangetest.Answer) {
		w.Header().Set("X-Server-Auth-Signature", strings.Repeat("0", 64))
		_, _ = w.Write([]byte("[]"))
	})
	if _, err := f.exchange.Balance(t.Context(), f.account, "BTC"); !errors.Is(err, exchange.ErrNoAnswer) {
		t.Errorf("got error %v, want %v", err, exchange.ErrNoAnswer)
	}
}

func FuzzMarket_rounds_to_the_safe_side(f *testing.F) {
	f.Add(uint64(8469160), uint64(10), uint64(65379), uint8(8))
	f.Add(uint64(1), uint64(7), uint64(1), uint8(0))
	f.Fuzz(func(t *testing.T, limit, tick, amount uint64, lot uint8) {
		m := exchange.Market{Tick: minor(tick, exchange.Euro, 4), Lot: int32(lot % 19)}
		wantLimit, wantAmount := minor(limit, exchange.Euro, 2), minor(amount, exchange.Coin("BTC"), 10)
		price, volume := m.RoundLimit(wantLimit), m.RoundAmount(wantAmount)
		if price.Cmp(wantLimit) < 0 || volume.Cmp(wantAmount) > 0 {
			t.Errorf("limit %s rounded to %s, amount %s rounded to %s", wantLimit, price, wantAmount, volume)
		}
		if !m.Tick.IsZero() && !new(big.Rat).Quo(price.Rat(), m.Tick.Rat()).IsInt() {
			t.Errorf("price %s is not a multiple of %s", price, m.Tick)
		}
	})
}
