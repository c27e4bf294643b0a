package sale_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/exchange/exchangetest"
	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/sale"
	"chequer/internal/storage/storagetest"
)

// sold describes the sale of an invoice of 56.50 euro whose 0.00065379 BTC are sold.
const sold = "filled  sold 0.00065379 of 0.00065379 for 56.50053 fee 0.226 in 1"

func TestWorker_sells_the_coins_of_an_invoice_once(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		inv := f.createPaid()
		f.want(inv.ID, "BTC", "waiting  sold 0 of 0.00065379 for 0 fee 0 in 0")
		f.settle(time.Hour)
		f.want(inv.ID, "BTC", sold)
		if accepted, filled := f.exchange.Orders(); accepted != 1 || filled != 1 {
			t.Errorf("the exchange accepted %d orders, of which %d sold something", accepted, filled)
		}
		if diff := cmp.Diff([]string{sale.OrderID(inv.ID, "BTC", 1)}, f.exchange.OrderNames()); diff != "" {
			t.Errorf("names (-want +got):\n%s", diff)
		}
		types, bodies := f.events(inv.ID)
		if diff := cmp.Diff([]invoice.EventType{invoice.EventSaleFilled}, types); diff != "" {
			t.Fatalf("events (-want +got):\n%s", diff)
		}
		for _, want := range []string{
			`"type":"conversion.filled"`, `"conversions":[{"crypto_currency":"BTC","exchange":"` + f.client.Name() + `","state":"filled","reason":"","reverted":false,` +
				`"amount":"0.00065379","sold_amount":"0.00065379","rate_eur":"86420","lowest_price":"84691.6","average_price":"86419.997","euro_amount":"56.50053","fee_amount":"0.226","orders":["`,
		} {
			if !strings.Contains(bodies[0], want) {
				t.Errorf("the event lacks %s:\n%s", want, bodies[0])
			}
		}
	})
}

// Coins that count without a confirmation are sold after their block.
func TestWorker_sells_instant_payments_after_their_block(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		inv := f.create("56.50", func(r *invoice.CreateRequest) { r.ZeroConfirmationCents = map[string]int64{"BTC": 100_00} })
		mine := f.payUnconfirmed(inv, "BTC", "0.00065379")
		paid, err := f.storage.Invoice(context.Background(), inv.ID)
		if err != nil || paid.State.Status != invoice.Paid || len(paid.Sales) > 0 {
			t.Fatalf("before a block the invoice is %s with %d sales, error %v", paid.State.Status, len(paid.Sales), err)
		}
		mine()
		f.want(inv.ID, "BTC", "waiting  sold 0 of 0.00065379 for 0 fee 0 in 0")
		f.settle(time.Hour)
		f.want(inv.ID, "BTC", sold)
	})
}

func TestWorker_sells_the_right_amounts(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
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
			inv := f.create("56.50", slices.DeleteFunc([]func(*invoice.CreateRequest){test.change}, func(f func(*invoice.CreateRequest)) bool { return f == nil })...)
			for _, p := range test.payments {
				f.pay(inv, p[0], p[1])
				f.clock.Advance(time.Second)
			}
			var got []string
			for _, c := range f.read(inv.ID).Sales {
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
	onEach(t, func(t *testing.T, f *fixture) {
		for amount, want := range map[string]string{"0.00060000": "0.0006", "0.9": "0.00065379"} {
			inv := f.create("56.50")
			f.clock.Advance(48 * time.Hour)
			f.pay(inv, "BTC", amount)
			if _, err := f.invoices.Accept(t.Context(), inv.ID, "command", 0); err != nil {
				t.Fatal(err)
			}
			if got := f.sale(inv.ID, "BTC").Amount.String(); got != want {
				t.Errorf("%s: got %s, want %s", amount, got, want)
			}
		}
	})
}

func TestWorker_does_not_sell_again_when_an_invoice_is_paid_again(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		inv := f.create("56.50")
		tx := f.pay(inv, "BTC", "0.00065379")
		for range 3 {
			f.reorganise(tx, true)
			if s := f.read(inv.ID).State.Status; s == invoice.Paid {
				t.Fatalf("invoice is %s, want not paid", s)
			}
			f.settle(time.Hour) // nothing is sold while the invoice is not paid
			f.want(inv.ID, "BTC", "waiting  sold 0 of 0.00065379 for 0 fee 0 in 0")
			f.reorganise(tx, false)
		}
		f.settle(time.Hour)
		f.want(inv.ID, "BTC", sold)
		// A sale is final, and other payments cause no second sale.
		f.reorganise(tx, true)
		f.pay(inv, "ETH", "0.03")
		f.settle(time.Hour)
		f.want(inv.ID, "BTC", sold)
		if n := len(f.read(inv.ID).Sales); n != 1 {
			t.Errorf("%d sales, want 1", n)
		}
		if accepted, _ := f.exchange.Orders(); accepted != 1 {
			t.Errorf("the exchange accepted %d orders, want 1", accepted)
		}
	})
}

// Coins of a transaction that a reorganisation removed are not sold, even if other coins pay the
// invoice instead.
func TestWorker_does_not_sell_reorganised_coins(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		f.exchange.SetBid("BTC", "80000") // nothing is sold at first
		inv := f.create("56.50")
		tx := f.pay(inv, "BTC", "0.00065379")
		f.settle(time.Minute)
		f.reorganise(tx, true)
		f.pay(inv, "ETH", "0.03")
		if s := f.read(inv.ID).State.Status; s != invoice.Paid {
			t.Fatalf("invoice is %s, want paid", s)
		}
		f.exchange.SetBid("BTC", "86420")
		f.settle(2 * time.Hour)
		f.want(inv.ID, "BTC", "waiting reverted sold 0 of 0.00065379 for 0 fee 0 in 0")
		if accepted, _ := f.exchange.Orders(); accepted != 0 {
			t.Errorf("the exchange accepted %d orders, want none", accepted)
		}
		f.reorganise(tx, false)
		f.settle(2 * time.Hour)
		f.want(inv.ID, "BTC", sold)
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
	"answers without end":            {exchangetest.Oversize, 1},
	"answers HTML":                   {exchangetest.ProcessAndRespond(200, "<html>"), 1},
	"reports that it is unavailable": {exchangetest.ProcessAndRespond(200, `{"error":["EService:Unavailable"],"status":"error","response_code":"500.001"}`), 1},
	"reports a duplicate name":       {exchangetest.ProcessAndRespond(200, `{"error":["EOrder:cl_ord_id exists"],"status":"error","response_code":"400.019"}`), 1},
	"reports an unknown error":       {exchangetest.Respond(400, `{"error":["EOrder:What?"],"status":"error","reason":"What?"}`), 2},
}

func TestWorker_waits_for_coins(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		f.exchange.Deposit("BTC", "-0.9999")
		inv := f.createPaid()
		f.settle(3 * 24 * time.Hour)
		f.want(inv.ID, "BTC", "waiting low_balance sold 0 of 0.00065379 for 0 fee 0 in 0")
		f.exchange.Deposit("BTC", "0.5")
		f.settle(time.Hour)
		f.want(inv.ID, "BTC", sold)

		f.exchange.Deposit("BTC", "-0.499")
		late := f.createPaid()
		f.settle(8 * 24 * time.Hour)
		if got := describe(f.sale(late.ID, "BTC")); got != "failed low_balance sold 0 of 0.00065379 for 0 fee 0 in 0" {
			t.Errorf("after a week: got %s", got)
		}
		if types, _ := f.events(late.ID); len(types) != 1 || types[0] != invoice.EventSaleFailed {
			t.Errorf("events %v", types)
		}
		f.exchange.Deposit("BTC", "0.5")
		if _, err := f.resolver().Retry(t.Context(), late.ID, "BTC", false); err != nil {
			t.Fatal(err)
		}
		f.settle(time.Minute)
		if got := describe(f.sale(late.ID, "BTC")); got != sold {
			t.Errorf("got %s", got)
		}
		f.checkNotOversold(inv.ID, late.ID)
	})
}

func TestWorker_waits_for_the_price(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		f.exchange.SetBid("BTC", "84691.59") // a cent below 2 % under the rate
		inv := f.createPaid()
		f.settle(24 * time.Hour)
		f.want(inv.ID, "BTC", "waiting price sold 0 of 0.00065379 for 0 fee 0 in 0")
		f.exchange.SetBid("BTC", "84691.60")
		f.settle(time.Hour)
		f.want(inv.ID, "BTC", "filled  sold 0.00065379 of 0.00065379 for 55.37052 fee 0.22148 in 1")
	})
}

func TestWorker_sells_in_parts_until_the_rest_is_too_small(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		f.exchange.SetFill("0.4")
		inv := f.create("500")
		f.pay(inv, "BTC", "0.00578570")
		f.settle(2 * time.Hour)
		c := f.sale(inv.ID, "BTC")
		if c.State != invoice.SaleFilled || len(c.Orders) < 5 {
			t.Errorf("got %s", describe(c))
		}
		// The rest is worth less than the smallest sale of 5 euro, or than Bitstamp's of 10.
		bound := money.MustParse("0.00012", invoice.SaleCoin("BTC"))
		if rest := c.Remaining(); rest.IsZero() || rest.Cmp(bound) > 0 {
			t.Errorf("rest = %s, too large", rest)
		}
		f.checkNotOversold(inv.ID)

		f.exchange.SetFill("0.01")
		slow := f.create("5000")
		f.pay(slow, "BTC", "0.05785698")
		f.settle(24 * time.Hour)
		c = f.sale(slow.ID, "BTC")
		if c.State != invoice.SaleFailed || c.Reason != invoice.ReasonExhausted || len(c.Orders) != 20 {
			t.Errorf("a hundred small parts: got %s", describe(c))
		}
		before := c.Sold().Sold
		if _, err := f.resolver().Retry(t.Context(), slow.ID, "BTC", false); err != nil {
			t.Fatal(err)
		}
		f.settle(time.Hour)
		c = f.sale(slow.ID, "BTC")
		if c.Reason != invoice.ReasonExhausted || len(c.Orders) != 21 || c.Sold().Sold.Cmp(before) <= 0 {
			t.Errorf("after a retry: got %s", describe(c))
		}
		f.checkNotOversold(inv.ID, slow.ID)
	})
}

func TestWorker_skips_amounts_that_are_too_small(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		inv := f.create("4.99")
		f.pay(inv, "BTC", "0.00005775")
		f.settle(time.Minute)
		f.want(inv.ID, "BTC", "skipped too_small sold 0 of 0.00005775 for 0 fee 0 in 0")
	})
}

func TestWorker_does_not_sell_while_the_account_is_off(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		f.exchange.AddFaults(f.placeCall(), exchangetest.DropAfter)
		started, ctx := f.createPaid(), t.Context()
		f.step()
		if _, err := f.accounts.Switch(ctx, "m", false); err != nil {
			t.Fatal(err)
		}
		waiting := f.createPaid()
		f.settle(time.Hour)
		f.want(waiting.ID, "BTC", "waiting  sold 0 of 0.00065379 for 0 fee 0 in 0")
		f.want(started.ID, "BTC", sold) // the outcome of an open order is still determined
		if _, err := f.accounts.Switch(ctx, "m", true); err != nil {
			t.Fatal(err)
		}
		f.settle(time.Hour)
		if got := describe(f.sale(waiting.ID, "BTC")); got != sold {
			t.Errorf("got %s", got)
		}
		f.checkNotOversold(started.ID, waiting.ID)
	})
}

func TestRun_sells_and_ends(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- f.worker.Run(ctx) }()
		inv := f.createPaid()
		f.clock.Advance(5 * time.Second)
		f.want(inv.ID, "BTC", sold)
		// Run returns although the exchange does not answer. The outcome of the order is determined later.
		f.exchange.AddFaults(f.placeCall(), exchangetest.HangAfter)
		next := f.createPaid()
		f.clock.Advance(3 * time.Second)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
		if c := f.sale(next.ID, "BTC"); c.State != invoice.SaleSending {
			t.Errorf("got %s", describe(c))
		}
		f.settle(30 * time.Minute)
		if got := describe(f.sale(next.ID, "BTC")); got != sold {
			t.Errorf("got %s", got)
		}
		f.checkNotOversold(inv.ID, next.ID)
	})
}

// An invoice whose stored row is damaged does not hold back the sales of others, and is reported once.
func TestWorker_skips_an_invoice_that_cannot_be_read(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		broken, other := f.createPaid(), f.createPaid()
		storagetest.Exec(t, f.url, "UPDATE invoices SET quotes = '{' WHERE id = $1", broken.ID)
		var faults []error
		for range 100 {
			if _, err := f.worker.Step(t.Context()); err != nil {
				faults = append(faults, err)
			}
			f.clock.Advance(5 * time.Second)
		}
		f.want(other.ID, "BTC", sold)
		if len(faults) != 1 || !strings.Contains(faults[0].Error(), "stored invoice "+broken.ID+" is unreadable") {
			t.Errorf("faults %v, want one", faults)
		}
	})
}
