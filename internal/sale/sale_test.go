package sale_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/exchange/exchangetest"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/sale"
)

// sold describes the conversion of an invoice of 56.50 euro whose 0.00065379 BTC are sold.
const sold = "filled  sold 0.00065379 of 0.00065379 for 56.50053 fee 0.226 in 1"

// paid creates an invoice of 56.50 euro and pays it in BTC.
func (l *lab) paid() *invoice.Invoice {
	l.t.Helper()
	inv := l.create("56.50")
	l.pay(inv, "BTC", "0.00065379")
	return inv
}

// place returns the name of the call that places an order.
func (l *lab) place() string {
	if l.at.Name() == "bitstamp" {
		return "sell/btceur"
	}
	return "AddOrder"
}

func TestWorker_sells_the_coins_of_an_invoice_once(t *testing.T) {
	onEach(t, func(t *testing.T, l *lab) {
		inv := l.paid()
		l.want(inv.ID, "BTC", "waiting  sold 0 of 0.00065379 for 0 fee 0 in 0")
		l.settle(time.Hour)
		l.want(inv.ID, "BTC", sold)
		if taken, filled := l.exchange.Orders(); taken != 1 || filled != 1 {
			t.Errorf("the exchange accepted %d orders, of which %d sold something", taken, filled)
		}
		if diff := cmp.Diff([]string{sale.OrderID(inv.ID, "BTC", 1)}, l.exchange.Names()); diff != "" {
			t.Errorf("names (-want +got):\n%s", diff)
		}
		types, bodies := l.events(inv.ID)
		if diff := cmp.Diff([]invoice.EventType{invoice.EventSaleFilled}, types); diff != "" {
			t.Fatalf("events (-want +got):\n%s", diff)
		}
		for _, want := range []string{
			`"type":"conversion.filled"`, `"conversions":[{"crypto_currency":"BTC","exchange":"` + l.at.Name() + `","state":"filled","reason":"","reverted":false,` +
				`"amount":"0.00065379","sold_amount":"0.00065379","rate_eur":"86420","lowest_price":"84691.6","average_price":"86419.997","euro_amount":"56.50053","fee_amount":"0.226","orders":["`,
		} {
			if !strings.Contains(bodies[0], want) {
				t.Errorf("the event lacks %s:\n%s", want, bodies[0])
			}
		}
	})
}

func TestWorker_sells_the_right_amounts(t *testing.T) {
	onEach(t, func(t *testing.T, l *lab) {
		usd := func(r *invoice.CreateRequest) {
			r.Terms.Price = money.MustParse("61.02", money.USD)
			r.Terms.Rules = invoice.DefaultRules(money.USD)
		}
		testMode := func(r *invoice.CreateRequest) { r.Mode = invoice.Test }
		disabled := func(r *invoice.CreateRequest) { r.Terms.DisableSale = true }
		noTerms := func(r *invoice.CreateRequest) { r.Terms.Sale = invoice.SaleTerms{} }
		stable := func(r *invoice.CreateRequest) { r.Terms.Sale.Coins = []string{"BTC", "USDC", "EURC"} }
		for name, test := range map[string]struct {
			change   func(*invoice.CreateRequest)
			payments [][2]string
			want     string // coins and amounts
		}{
			"exactly":                                  {nil, [][2]string{{"BTC", "0.00065379"}}, "BTC 0.00065379"},
			"overpaid":                                 {nil, [][2]string{{"BTC", "0.5"}}, "BTC 0.00065379"},
			"overpaid by a second payment":             {nil, [][2]string{{"BTC", "0.00065379"}, {"BTC", "0.1"}}, "BTC 0.00065379"},
			"in two coins":                             {nil, [][2]string{{"BTC", "0.0003"}, {"ETH", "0.02"}}, "BTC 0.0003 ETH 0.01153702"},
			"in two coins and too much":                {nil, [][2]string{{"ETH", "0.01"}, {"BTC", "1"}}, "ETH 0.01 BTC 0.00034713"},
			"in euro":                                  {nil, [][2]string{{"EURC", "56.5"}}, ""},
			"in euro, with euro among the coins":       {stable, [][2]string{{"EURC", "56.5"}}, ""},
			"partly in euro":                           {nil, [][2]string{{"EURC", "26.5"}, {"BTC", "0.00034715"}}, "BTC 0.00034714"},
			"in a coin that is not selected":           {nil, [][2]string{{"USDC", "61.081082"}}, ""},
			"in dollars, with dollars among the coins": {stable, [][2]string{{"USDC", "61.081082"}}, "USDC 61.081082"},
			"partly in a token priced as a coin":       {nil, [][2]string{{"WBTC", "0.0005"}, {"BTC", "0.5"}}, "BTC 0.00015379"},
			"in a token priced as a coin":              {nil, [][2]string{{"WBTC", "0.00065379"}}, ""},
			"priced in dollars":                        {usd, [][2]string{{"BTC", "0.00065379"}}, "BTC 0.00065379"},
			"of a test invoice":                        {testMode, [][2]string{{"BTC", "0.00065379"}}, ""},
			"with disable_convert":                     {disabled, [][2]string{{"BTC", "0.00065379"}}, ""},
			"of a merchant who does not sell":          {noTerms, [][2]string{{"BTC", "0.00065379"}}, ""},
			"of an invoice that is not paid":           {nil, [][2]string{{"BTC", "0.0001"}}, ""},
		} {
			inv := l.create("56.50", slices.DeleteFunc([]func(*invoice.CreateRequest){test.change}, func(f func(*invoice.CreateRequest)) bool { return f == nil })...)
			for _, p := range test.payments {
				l.pay(inv, p[0], p[1])
				l.clock.Pass(time.Second)
			}
			var got []string
			for _, c := range l.read(inv.ID).Sales {
				got = append(got, c.Coin+" "+money.RoundDown(c.Amount.Rat(), money.Currency{Decimals: 8}).String())
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("%s: got %q, want %q", name, strings.Join(got, " "), test.want)
			}
		}
	})
}

// A late payment that the merchant accepts counts for the full price. At most the amount of the
// price is sold.
func TestWorker_sells_accepted_late_payments(t *testing.T) {
	onEach(t, func(t *testing.T, l *lab) {
		for amount, want := range map[string]string{"0.00060000": "0.0006", "0.9": "0.00065379"} {
			inv := l.create("56.50")
			l.clock.Pass(48 * time.Hour)
			l.pay(inv, "BTC", amount)
			if _, err := l.invoices.Accept(t.Context(), inv.ID, "command"); err != nil {
				t.Fatal(err)
			}
			if got := l.conversion(inv.ID, "BTC").Amount.String(); got != want {
				t.Errorf("%s: got %s, want %s", amount, got, want)
			}
		}
	})
}

func TestWorker_does_not_sell_again_when_an_invoice_is_paid_again(t *testing.T) {
	onEach(t, func(t *testing.T, l *lab) {
		inv := l.create("56.50")
		tx := l.pay(inv, "BTC", "0.00065379")
		for range 3 {
			l.reorganise(tx, true)
			if s := l.read(inv.ID).State.Status; s == invoice.Paid {
				t.Fatalf("invoice is %s, want not paid", s)
			}
			l.settle(time.Hour) // nothing is sold while the invoice is not paid
			l.want(inv.ID, "BTC", "waiting  sold 0 of 0.00065379 for 0 fee 0 in 0")
			l.reorganise(tx, false)
		}
		l.settle(time.Hour)
		l.want(inv.ID, "BTC", sold)
		// A sale is final, and other payments cause no second sale.
		l.reorganise(tx, true)
		l.pay(inv, "ETH", "0.03")
		l.settle(time.Hour)
		l.want(inv.ID, "BTC", sold)
		if n := len(l.read(inv.ID).Sales); n != 1 {
			t.Errorf("%d conversions, want 1", n)
		}
		if taken, _ := l.exchange.Orders(); taken != 1 {
			t.Errorf("the exchange accepted %d orders, want 1", taken)
		}
	})
}

// Coins of a transaction that a reorganisation removed are not sold, even if other coins pay the
// invoice instead.
func TestWorker_does_not_sell_reorganised_coins(t *testing.T) {
	onEach(t, func(t *testing.T, l *lab) {
		l.exchange.Bid("BTC", "80000") // nothing is sold at first
		inv := l.create("56.50")
		tx := l.pay(inv, "BTC", "0.00065379")
		l.settle(time.Minute)
		l.reorganise(tx, true)
		l.pay(inv, "ETH", "0.03")
		if s := l.read(inv.ID).State.Status; s != invoice.Paid {
			t.Fatalf("invoice is %s, want paid", s)
		}
		l.exchange.Bid("BTC", "86420")
		l.settle(2 * time.Hour)
		l.want(inv.ID, "BTC", "waiting reverted sold 0 of 0.00065379 for 0 fee 0 in 0")
		if taken, _ := l.exchange.Orders(); taken != 0 {
			t.Errorf("the exchange accepted %d orders, want none", taken)
		}
		l.reorganise(tx, false)
		l.settle(2 * time.Hour)
		l.want(inv.ID, "BTC", sold)
	})
}

// faults are the faults that may occur while an order is placed.
var faults = map[string]struct {
	fault  exchangetest.Fault
	orders int // number of orders that the worker places until the coins are sold
}{
	"hangs":                          {exchangetest.Hang, 2},
	"hangs after accepting":          {exchangetest.HangAfter, 1},
	"500":                            {exchangetest.Status(500), 2},
	"500 after accepting":            {exchangetest.StatusAfter(500), 1},
	"closes":                         {exchangetest.Drop, 2},
	"closes after accepting":         {exchangetest.DropAfter, 1},
	"redirects":                      {exchangetest.Redirect, 2},
	"switches protocols":             {exchangetest.Upgrade, 2},
	"answers without end":            {exchangetest.Giant, 1},
	"answers HTML":                   {exchangetest.SayAfter(200, "<html>"), 1},
	"reports that it is unavailable": {exchangetest.SayAfter(200, `{"error":["EService:Unavailable"],"status":"error","response_code":"500.001"}`), 1},
	"reports a duplicate name":       {exchangetest.SayAfter(200, `{"error":["EOrder:cl_ord_id exists"],"status":"error","response_code":"400.019"}`), 1},
	"reports an unknown error":       {exchangetest.Say(400, `{"error":["EOrder:What?"],"status":"error","reason":"What?"}`), 2},
}

func TestWorker_sells_once_after_any_fault(t *testing.T) {
	for name, test := range faults {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, l *lab) {
				l.exchange.Next(l.place(), test.fault)
				inv := l.paid()
				l.step()
				c := l.conversion(inv.ID, "BTC")
				if c.State != invoice.SaleSending || c.OpenOrder() == nil || c.OpenOrder().Fault == "" {
					t.Fatalf("right after the fault: %s, %+v", describe(c), c.OpenOrder())
				}
				// The worker makes no calls until the exchange can no longer execute the order.
				over, calls := c.OpenOrder().Over, len(l.exchange.Calls())
				for l.clock.Now().Add(15 * time.Second).Before(over) {
					l.step()
					l.clock.Pass(15 * time.Second)
				}
				if n := len(l.exchange.Calls()); n != calls {
					t.Errorf("%d calls while the order could still be executed, want none", n-calls)
				}
				l.settle(30 * time.Minute)
				want := sold
				if test.orders == 2 {
					want = strings.Replace(sold, "in 1", "in 2", 1)
				}
				l.want(inv.ID, "BTC", want)
				if _, filled := l.exchange.Orders(); filled != 1 {
					t.Errorf("%d orders sold something, want 1", filled)
				}
			})
		})
	}
}

// A delayed order reaches the exchange after its deadline. The exchange accepts only the order that
// replaces it.
func TestWorker_replaces_an_order_that_arrives_too_late(t *testing.T) {
	onEach(t, func(t *testing.T, l *lab) {
		l.exchange.Next(l.place(), exchangetest.Meet(func() { time.Sleep(301 * time.Second) }))
		inv := l.paid()
		l.settle(30 * time.Minute)
		l.want(inv.ID, "BTC", strings.Replace(sold, "in 1", "in 2", 1))
		if taken, _ := l.exchange.Orders(); taken != 1 {
			t.Errorf("the exchange accepted %d orders, want 1", taken)
		}
	})
}

func TestWorker_after_a_refusal(t *testing.T) {
	kraken := func(message string) exchangetest.Fault { return exchangetest.Say(200, `{"error":["`+message+`"]}`) }
	bitstamp := func(reason string) exchangetest.Fault {
		return exchangetest.Say(http.StatusBadRequest, `{"status":"error",`+reason+`}`)
	}
	for name, test := range map[string]struct {
		kraken, bitstamp exchangetest.Fault
		first, final     string // state and reason right after the refusal, and an hour later
	}{
		"insufficient funds": {kraken("EOrder:Insufficient funds"), bitstamp(`"reason":{"__all__":["Check your account balance for details."]}`), "waiting low_balance", "filled "},
		"rate limit":         {kraken("EOrder:Rate limit exceeded"), bitstamp(`"response_code":"400.002"`), "waiting rate_limit", "filled "},
		"closed":             {kraken("EService:Market in cancel_only mode"), bitstamp(`"response_code":"400.003"`), "waiting maintenance", "filled "},
		"nonce":              {kraken("EAPI:Invalid nonce"), bitstamp(`"reason":"Invalid nonce","code":"API0004"`), "waiting nonce", "filled "},
		"price":              {kraken("EOrder:Invalid price"), bitstamp(`"response_code":"400.021"`), "waiting price", "filled "},
		"key":                {kraken("EGeneral:Permission denied"), bitstamp(`"reason":"No permission found","code":"API0003"`), "failed key", "failed key"},
		"other reason":       {kraken("EOrder:Tick size check failed"), bitstamp(`"response_code":"400.038"`), "failed refused", "failed refused"},
		"too small":          {kraken("EOrder:Order minimum not met"), bitstamp(`"response_code":"400.020"`), "skipped too_small", "skipped too_small"},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, l *lab) {
				fault := test.kraken
				if l.at.Name() == "bitstamp" {
					fault = test.bitstamp
				}
				l.exchange.Next(l.place(), fault)
				inv := l.paid()
				l.step()
				state := func() string {
					c := l.conversion(inv.ID, "BTC")
					return string(c.State) + " " + string(c.Reason)
				}
				if got := state(); got != test.first {
					t.Errorf("right after the refusal: got %q, want %q", got, test.first)
				}
				l.settle(time.Hour)
				if got := state(); got != test.final {
					t.Errorf("an hour later: got %q, want %q", got, test.final)
				}
				l.checkNotOversold(inv.ID)
				if types, _ := l.events(inv.ID); strings.HasPrefix(test.final, "skipped") != (len(types) == 0) || len(types) > 1 {
					t.Errorf("events %v", types)
				}
			})
		})
	}
}

func TestWorker_waits_for_coins(t *testing.T) {
	onEach(t, func(t *testing.T, l *lab) {
		l.exchange.Deposit("BTC", "-0.9999")
		inv := l.paid()
		l.settle(3 * 24 * time.Hour)
		l.want(inv.ID, "BTC", "waiting low_balance sold 0 of 0.00065379 for 0 fee 0 in 0")
		l.exchange.Deposit("BTC", "0.5")
		l.settle(time.Hour)
		l.want(inv.ID, "BTC", sold)

		l.exchange.Deposit("BTC", "-0.499")
		late := l.paid()
		l.settle(8 * 24 * time.Hour)
		if got := describe(l.conversion(late.ID, "BTC")); got != "failed low_balance sold 0 of 0.00065379 for 0 fee 0 in 0" {
			t.Errorf("after a week: got %s", got)
		}
		if types, _ := l.events(late.ID); len(types) != 1 || types[0] != invoice.EventSaleFailed {
			t.Errorf("events %v", types)
		}
		l.exchange.Deposit("BTC", "0.5")
		if _, err := l.desk().Retry(t.Context(), late.ID, "BTC", false); err != nil {
			t.Fatal(err)
		}
		l.settle(time.Minute)
		if got := describe(l.conversion(late.ID, "BTC")); got != sold {
			t.Errorf("got %s", got)
		}
		l.checkNotOversold(inv.ID, late.ID)
	})
}

func (l *lab) desk() sale.Resolver { return sale.Resolver{Invoices: l.invoices, Now: l.clock.Now} }

func TestWorker_waits_for_the_price(t *testing.T) {
	onEach(t, func(t *testing.T, l *lab) {
		l.exchange.Bid("BTC", "84691.59") // a cent below 2 % under the rate
		inv := l.paid()
		l.settle(24 * time.Hour)
		l.want(inv.ID, "BTC", "waiting price sold 0 of 0.00065379 for 0 fee 0 in 0")
		l.exchange.Bid("BTC", "84691.60")
		l.settle(time.Hour)
		l.want(inv.ID, "BTC", "filled  sold 0.00065379 of 0.00065379 for 55.37052 fee 0.22148 in 1")
	})
}

func TestWorker_sells_in_parts_until_the_rest_is_too_small(t *testing.T) {
	onEach(t, func(t *testing.T, l *lab) {
		l.exchange.Fill("0.4")
		inv := l.create("500")
		l.pay(inv, "BTC", "0.00578570")
		l.settle(2 * time.Hour)
		c := l.conversion(inv.ID, "BTC")
		if c.State != invoice.SaleFilled || len(c.Orders) < 5 {
			t.Errorf("got %s", describe(c))
		}
		// The rest is worth less than the smallest sale of 5 euro, or than Bitstamp's of 10.
		bound := money.MustParse("0.00012", invoice.SaleCoin("BTC"))
		if rest := c.Rest(); rest.IsZero() || rest.Cmp(bound) > 0 {
			t.Errorf("rest = %s, too large", rest)
		}
		l.checkNotOversold(inv.ID)

		l.exchange.Fill("0.01")
		slow := l.create("5000")
		l.pay(slow, "BTC", "0.05785698")
		l.settle(24 * time.Hour)
		c = l.conversion(slow.ID, "BTC")
		if c.State != invoice.SaleFailed || c.Reason != invoice.ReasonExhausted || len(c.Orders) != 20 {
			t.Errorf("a hundred small parts: got %s", describe(c))
		}
		before := c.Sold().Sold
		if _, err := l.desk().Retry(t.Context(), slow.ID, "BTC", false); err != nil {
			t.Fatal(err)
		}
		l.settle(time.Hour)
		c = l.conversion(slow.ID, "BTC")
		if c.Reason != invoice.ReasonExhausted || len(c.Orders) != 21 || c.Sold().Sold.Cmp(before) <= 0 {
			t.Errorf("after a retry: got %s", describe(c))
		}
		l.checkNotOversold(inv.ID, slow.ID)
	})
}

func TestWorker_skips_amounts_that_are_too_small(t *testing.T) {
	onEach(t, func(t *testing.T, l *lab) {
		inv := l.create("4.99")
		l.pay(inv, "BTC", "0.00005775")
		l.settle(time.Minute)
		l.want(inv.ID, "BTC", "skipped too_small sold 0 of 0.00005775 for 0 fee 0 in 0")
	})
}

// The exchange does not list the order, but the balance has decreased. Nothing is sold until the
// operator decides.
func TestWorker_leaves_an_order_with_unknown_outcome_to_the_operator(t *testing.T) {
	onEach(t, func(t *testing.T, l *lab) {
		l.exchange.Next(l.place(), exchangetest.DropAfter)
		inv := l.paid()
		l.step()
		l.exchange.Lose()
		l.settle(30 * time.Minute)
		c := l.conversion(inv.ID, "BTC")
		if c.State != invoice.SaleFailed || c.Reason != invoice.ReasonUncertain || !strings.Contains(c.OpenOrder().Fault, "held 1 before") {
			t.Fatalf("got %s: %+v", describe(c), c.OpenOrder())
		}
		ctx := t.Context()
		if _, err := l.desk().Retry(ctx, inv.ID, "BTC", false); !errors.Is(err, invoice.ErrUnknownOrder) {
			t.Errorf("retry: got error %v, want %v", err, invoice.ErrUnknownOrder)
		}
		if _, err := l.accounts.Remove(ctx, "m"); !errors.Is(err, merchant.ErrBusy) {
			t.Errorf("remove the account: got error %v, want %v", err, merchant.ErrBusy)
		}
		tooMuch := invoice.Proceeds{Sold: money.MustParse("0.0007", invoice.SaleCoin("BTC")), Euro: money.MustParse("60", invoice.SaleEuro), Fee: money.Zero(invoice.SaleEuro)}
		if _, err := l.desk().Settle(ctx, inv.ID, "BTC", tooMuch); !errors.Is(err, invoice.ErrOversold) {
			t.Errorf("settle with more than the amount of the conversion: got error %v, want %v", err, invoice.ErrOversold)
		}
		stated := invoice.Proceeds{Sold: money.MustParse("0.00065379", invoice.SaleCoin("BTC")), Euro: money.MustParse("56.5", invoice.SaleEuro), Fee: money.MustParse("0.2", invoice.SaleEuro)}
		if _, err := l.desk().Settle(ctx, inv.ID, "BTC", stated); err != nil {
			t.Fatal(err)
		}
		l.want(inv.ID, "BTC", "settled  sold 0.00065379 of 0.00065379 for 56.5 fee 0.2 in 1")
		if _, err := l.desk().Retry(ctx, inv.ID, "BTC", true); !errors.Is(err, invoice.ErrState) {
			t.Errorf("retry of a settled sale: got error %v, want %v", err, invoice.ErrState)
		}
		if _, err := l.accounts.Remove(ctx, "m"); err != nil {
			t.Errorf("remove the account: %v", err)
		}
	})
}

// The operator states that the exchange never had the order.
func TestDesk_retries_an_order_that_is_declared_absent(t *testing.T) {
	onEach(t, func(t *testing.T, l *lab) {
		l.exchange.Next(l.place(), exchangetest.Drop)
		inv := l.paid()
		l.step()
		l.exchange.Deposit("BTC", "-0.1") // withdrawn meanwhile, so that the balance does not show whether the order was executed
		l.settle(30 * time.Minute)
		l.want(inv.ID, "BTC", "failed uncertain sold 0 of 0.00065379 for 0 fee 0 in 1")
		if _, err := l.desk().Retry(t.Context(), inv.ID, "BTC", true); err != nil {
			t.Fatal(err)
		}
		l.settle(time.Minute)
		l.want(inv.ID, "BTC", strings.Replace(sold, "in 1", "in 2", 1))
	})
}

func TestWorker_fails_on_impossible_data(t *testing.T) {
	onEach(t, func(t *testing.T, l *lab) {
		call, fault := "QueryOrders", exchangetest.Lie(`"vol_exec":"0.00065379"`, `"vol_exec":"0.5"`)
		if l.at.Name() == "bitstamp" {
			call, fault = "order_status", exchangetest.Lie(`"btc":"0.00065379"`, `"btc":"0.5"`)
			l.exchange.Next(call, exchangetest.Meet(func() {})) // the worker looks for the order before it places it
		}
		l.exchange.Next(call, fault)
		inv := l.paid()
		l.settle(time.Hour)
		l.want(inv.ID, "BTC", "failed contradiction sold 0 of 0.00065379 for 0 fee 0 in 1")
	})
}

func TestWorker_does_not_sell_when_a_similar_order_has_no_name(t *testing.T) {
	onEach(t, func(t *testing.T, l *lab) {
		if l.at.Name() != "kraken" {
			return // Bitstamp finds its orders by name; see exchange.Bitstamp
		}
		l.exchange.Next(l.place(), exchangetest.DropAfter)
		inv := l.paid()
		l.step()
		l.exchange.Forget()
		l.settle(30 * time.Minute)
		l.want(inv.ID, "BTC", "failed uncertain sold 0 of 0.00065379 for 0 fee 0 in 1")
	})
}

// The exchange accepts an order and then does not answer for days.
func TestWorker_waits_for_an_exchange_that_does_not_answer(t *testing.T) {
	onEach(t, func(t *testing.T, l *lab) {
		l.exchange.Next(l.place(), exchangetest.HangAfter)
		inv := l.paid()
		l.step()
		for _, call := range []string{"OpenOrders", "ClosedOrders", "order_status", "BalanceEx", "account_balances"} {
			l.exchange.Next(call, slices.Repeat([]exchangetest.Fault{exchangetest.Status(503)}, 40)...)
		}
		l.settle(20 * time.Minute)
		l.want(inv.ID, "BTC", "sending  sold 0 of 0.00065379 for 0 fee 0 in 1")
		l.settle(2 * time.Hour)
		l.want(inv.ID, "BTC", sold)
	})
}

func TestWorker_does_not_sell_while_the_account_is_off(t *testing.T) {
	onEach(t, func(t *testing.T, l *lab) {
		l.exchange.Next(l.place(), exchangetest.DropAfter)
		started, ctx := l.paid(), t.Context()
		l.step()
		if _, err := l.accounts.Switch(ctx, "m", false); err != nil {
			t.Fatal(err)
		}
		waiting := l.paid()
		l.settle(time.Hour)
		l.want(waiting.ID, "BTC", "waiting  sold 0 of 0.00065379 for 0 fee 0 in 0")
		l.want(started.ID, "BTC", sold) // the outcome of an open order is still determined
		if _, err := l.accounts.Switch(ctx, "m", true); err != nil {
			t.Fatal(err)
		}
		l.settle(time.Hour)
		if got := describe(l.conversion(waiting.ID, "BTC")); got != sold {
			t.Errorf("got %s", got)
		}
		l.checkNotOversold(started.ID, waiting.ID)
	})
}

func TestAccounts_refuse_keys_that_can_withdraw(t *testing.T) {
	onEach(t, func(t *testing.T, l *lab) {
		ctx := t.Context()
		if _, err := l.accounts.Remove(ctx, "m"); err != nil {
			t.Fatal(err)
		}
		l.clock.Pass(time.Second)
		all := []string{"query-funds", "query-open-trades", "query-closed-trades", "modify-trades"}
		set := sale.Settings{Coins: []string{"BTC"}, Smallest: "0", Slippage: 100}
		add := func(secret string, set sale.Settings) error {
			l.clock.Pass(time.Second) // nonces of calls are derived from the time
			_, err := l.accounts.Add(ctx, "m", l.at.Name(), exchangetest.Key, secret, set)
			return err
		}
		l.exchange.Permit(append(slices.Clone(all), "withdraw-funds")...)
		if err := add(exchangetest.Secret, set); err == nil || !strings.Contains(err.Error(), "may take money out of the account") {
			t.Errorf("a key that may withdraw: got error %v", err)
		}
		l.exchange.Permit("query-funds")
		if err := add(exchangetest.Secret, set); err == nil || !strings.Contains(err.Error(), "lacks permissions") {
			t.Errorf("a key that may not sell: got error %v", err)
		}
		l.exchange.Permit(all...)
		for _, call := range []string{"GetApiKeyInfo", "eth_withdrawal"} {
			l.exchange.Next(call, exchangetest.Status(500))
		}
		if err := add(exchangetest.Secret, set); err == nil {
			t.Error("an exchange that does not answer: got no error")
		}
		for name, wrong := range map[string]sale.Settings{
			"EURC is euro already":   {Coins: []string{"EURC"}, Smallest: "0", Slippage: 100},
			`does not sell "DOGE"`:   {Coins: []string{"DOGE"}, Smallest: "0", Slippage: 100},
			"BTC is named twice":     {Coins: []string{"BTC", "BTC"}, Smallest: "0", Slippage: 100},
			"no coin is named":       {Smallest: "0", Slippage: 100},
			"the smallest sale must": {Coins: []string{"BTC"}, Smallest: "-1", Slippage: 100},
			"the slippage must be":   {Coins: []string{"BTC"}, Smallest: "0", Slippage: 2001},
		} {
			if err := add(exchangetest.Secret, wrong); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%+v: got error %v, want one with %q", wrong, err, name)
			}
		}
		if _, err := l.accounts.Account(ctx, "m"); !errors.Is(err, merchant.ErrNotFound) {
			t.Errorf("the account exists: error %v", err)
		}
		if err := add(exchangetest.Secret, set); err != nil {
			t.Fatal(err)
		}
		if err := add(exchangetest.Secret, set); !errors.Is(err, merchant.ErrExists) {
			t.Errorf("a second account: got error %v, want %v", err, merchant.ErrExists)
		}
		a, err := l.accounts.Account(ctx, "m")
		if err != nil || a.Secret != exchangetest.Secret || a.Active {
			t.Errorf("got %+v, error %v", a, err)
		}
		if err := l.accounts.Examine(ctx, a); err != nil {
			t.Errorf("examine: %v", err)
		}
		l.exchange.Permit(append(slices.Clone(all), "withdraw-funds")...)
		var scope *sale.ScopeError
		if err := l.accounts.Examine(ctx, a); !errors.As(err, &scope) {
			t.Errorf("examine a key with more permissions: got error %v", err)
		}
	})
}

func TestRun_sells_and_ends(t *testing.T) {
	onEach(t, func(t *testing.T, l *lab) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- l.worker.Run(ctx) }()
		inv := l.paid()
		l.clock.Pass(5 * time.Second)
		l.want(inv.ID, "BTC", sold)
		// Run returns although the exchange does not answer. The outcome of the order is determined later.
		l.exchange.Next(l.place(), exchangetest.HangAfter)
		next := l.paid()
		l.clock.Pass(3 * time.Second)
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
		if c := l.conversion(next.ID, "BTC"); c.State != invoice.SaleSending {
			t.Errorf("got %s", describe(c))
		}
		l.settle(30 * time.Minute)
		if got := describe(l.conversion(next.ID, "BTC")); got != sold {
			t.Errorf("got %s", got)
		}
		l.checkNotOversold(inv.ID, next.ID)
	})
}

// PostgreSQL refuses invalid UTF-8. A sale whose state cannot be stored would not continue.
func TestShort_returns_valid_UTF8(t *testing.T) {
	t.Parallel()
	kept := sale.Short(errors.New("a" + strings.Repeat("ü", 200)))
	if want := "a" + strings.Repeat("ü", 149); kept != want {
		t.Errorf("short = %q, want %q", kept, want)
	}
}
