package sale_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"chequer/internal/exchange/exchangetest"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/sale"
)

func TestWorker_sells_once_after_any_fault(t *testing.T) {
	for name, test := range faults {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, f *fixture) {
				f.exchange.Next(f.placeCall(), test.fault)
				inv := f.createPaid()
				f.step()
				c := f.sale(inv.ID, "BTC")
				if c.State != invoice.SaleSending || c.OpenOrder() == nil || c.OpenOrder().Fault == "" {
					t.Fatalf("right after the fault: %s, %+v", describe(c), c.OpenOrder())
				}
				// The worker makes no calls until the exchange can no longer execute the order.
				windowEnd, calls := c.OpenOrder().WindowEnd, len(f.exchange.Calls())
				for f.clock.Now().Add(15 * time.Second).Before(windowEnd) {
					f.step()
					f.clock.Advance(15 * time.Second)
				}
				if n := len(f.exchange.Calls()); n != calls {
					t.Errorf("%d calls while the order could still be executed, want none", n-calls)
				}
				f.settle(30 * time.Minute)
				want := sold
				if test.orders == 2 {
					want = strings.Replace(sold, "in 1", "in 2", 1)
				}
				f.want(inv.ID, "BTC", want)
				if _, filled := f.exchange.Orders(); filled != 1 {
					t.Errorf("%d orders sold something, want 1", filled)
				}
			})
		})
	}
}

// A delayed order reaches the exchange after its deadline. The exchange accepts only the order that
// replaces it.
func TestWorker_replaces_an_order_that_arrives_too_late(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		f.exchange.Next(f.placeCall(), exchangetest.RunBefore(func() { time.Sleep(301 * time.Second) }))
		inv := f.createPaid()
		f.settle(30 * time.Minute)
		f.want(inv.ID, "BTC", strings.Replace(sold, "in 1", "in 2", 1))
		if accepted, _ := f.exchange.Orders(); accepted != 1 {
			t.Errorf("the exchange accepted %d orders, want 1", accepted)
		}
	})
}

func TestWorker_after_a_refusal(t *testing.T) {
	kraken := func(message string) exchangetest.Fault { return exchangetest.Respond(200, `{"error":["`+message+`"]}`) }
	bitstamp := func(reason string) exchangetest.Fault {
		return exchangetest.Respond(http.StatusBadRequest, `{"status":"error",`+reason+`}`)
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
			onEach(t, func(t *testing.T, f *fixture) {
				fault := test.kraken
				if f.client.Name() == "bitstamp" {
					fault = test.bitstamp
				}
				f.exchange.Next(f.placeCall(), fault)
				inv := f.createPaid()
				f.step()
				state := func() string {
					c := f.sale(inv.ID, "BTC")
					return string(c.State) + " " + string(c.Reason)
				}
				if got := state(); got != test.first {
					t.Errorf("right after the refusal: got %q, want %q", got, test.first)
				}
				f.settle(time.Hour)
				if got := state(); got != test.final {
					t.Errorf("an hour later: got %q, want %q", got, test.final)
				}
				f.checkNotOversold(inv.ID)
				if types, _ := f.events(inv.ID); strings.HasPrefix(test.final, "skipped") != (len(types) == 0) || len(types) > 1 {
					t.Errorf("events %v", types)
				}
			})
		})
	}
}

// The exchange does not list the order, but the balance has decreased. Nothing is sold until the
// operator decides.
func TestWorker_leaves_an_order_with_unknown_outcome_to_the_operator(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		f.exchange.Next(f.placeCall(), exchangetest.DropAfter)
		inv := f.createPaid()
		f.step()
		f.exchange.RemoveOrders()
		f.settle(30 * time.Minute)
		c := f.sale(inv.ID, "BTC")
		if c.State != invoice.SaleFailed || c.Reason != invoice.ReasonUncertain || !strings.Contains(c.OpenOrder().Fault, "held 1 before") {
			t.Fatalf("got %s: %+v", describe(c), c.OpenOrder())
		}
		ctx := t.Context()
		if _, err := f.resolver().Retry(ctx, inv.ID, "BTC", false); !errors.Is(err, invoice.ErrUnknownOrder) {
			t.Errorf("retry: got error %v, want %v", err, invoice.ErrUnknownOrder)
		}
		if _, err := f.accounts.Remove(ctx, "m"); !errors.Is(err, merchant.ErrBusy) {
			t.Errorf("remove the account: got error %v, want %v", err, merchant.ErrBusy)
		}
		tooMuch := invoice.Proceeds{Sold: money.MustParse("0.0007", invoice.SaleCoin("BTC")), Euro: money.MustParse("60", invoice.SaleEuro), Fee: money.Zero(invoice.SaleEuro)}
		if _, err := f.resolver().Settle(ctx, inv.ID, "BTC", tooMuch); !errors.Is(err, invoice.ErrOversold) {
			t.Errorf("settle with more than the amount of the sale: got error %v, want %v", err, invoice.ErrOversold)
		}
		stated := invoice.Proceeds{Sold: money.MustParse("0.00065379", invoice.SaleCoin("BTC")), Euro: money.MustParse("56.5", invoice.SaleEuro), Fee: money.MustParse("0.2", invoice.SaleEuro)}
		if _, err := f.resolver().Settle(ctx, inv.ID, "BTC", stated); err != nil {
			t.Fatal(err)
		}
		f.want(inv.ID, "BTC", "settled  sold 0.00065379 of 0.00065379 for 56.5 fee 0.2 in 1")
		if _, err := f.resolver().Retry(ctx, inv.ID, "BTC", true); !errors.Is(err, invoice.ErrState) {
			t.Errorf("retry of a settled sale: got error %v, want %v", err, invoice.ErrState)
		}
		if _, err := f.accounts.Remove(ctx, "m"); err != nil {
			t.Errorf("remove the account: %v", err)
		}
	})
}

// The operator states that the exchange never had the order.
func TestResolver_retries_an_order_that_is_declared_absent(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		f.exchange.Next(f.placeCall(), exchangetest.Drop)
		inv := f.createPaid()
		f.step()
		f.exchange.Deposit("BTC", "-0.1") // withdrawn meanwhile, so that the balance does not show whether the order was executed
		f.settle(30 * time.Minute)
		f.want(inv.ID, "BTC", "failed uncertain sold 0 of 0.00065379 for 0 fee 0 in 1")
		if _, err := f.resolver().Retry(t.Context(), inv.ID, "BTC", true); err != nil {
			t.Fatal(err)
		}
		f.settle(time.Minute)
		f.want(inv.ID, "BTC", strings.Replace(sold, "in 1", "in 2", 1))
	})
}

func TestWorker_fails_on_impossible_data(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		call, fault := "QueryOrders", exchangetest.Falsify(`"vol_exec":"0.00065379"`, `"vol_exec":"0.5"`)
		if f.client.Name() == "bitstamp" {
			call, fault = "order_status", exchangetest.Falsify(`"btc":"0.00065379"`, `"btc":"0.5"`)
			f.exchange.Next(call, exchangetest.RunBefore(func() {})) // the worker looks for the order before it places it
		}
		f.exchange.Next(call, fault)
		inv := f.createPaid()
		f.settle(time.Hour)
		f.want(inv.ID, "BTC", "failed contradiction sold 0 of 0.00065379 for 0 fee 0 in 1")
	})
}

func TestWorker_does_not_sell_when_a_similar_order_has_no_name(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		if f.client.Name() != "kraken" {
			return // Bitstamp finds its orders by name; see exchange.Bitstamp
		}
		f.exchange.Next(f.placeCall(), exchangetest.DropAfter)
		inv := f.createPaid()
		f.step()
		f.exchange.ForgetNames()
		f.settle(30 * time.Minute)
		f.want(inv.ID, "BTC", "failed uncertain sold 0 of 0.00065379 for 0 fee 0 in 1")
	})
}

// The exchange accepts an order and then does not answer for days.
func TestWorker_waits_for_an_exchange_that_does_not_answer(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		f.exchange.Next(f.placeCall(), exchangetest.HangAfter)
		inv := f.createPaid()
		f.step()
		for _, call := range []string{"OpenOrders", "ClosedOrders", "order_status", "BalanceEx", "account_balances"} {
			f.exchange.Next(call, slices.Repeat([]exchangetest.Fault{exchangetest.Status(503)}, 40)...)
		}
		f.settle(20 * time.Minute)
		f.want(inv.ID, "BTC", "sending  sold 0 of 0.00065379 for 0 fee 0 in 1")
		f.settle(2 * time.Hour)
		f.want(inv.ID, "BTC", sold)
	})
}

// PostgreSQL refuses invalid UTF-8. A sale whose state cannot be stored would not continue.
func TestShortError_returns_valid_UTF8(t *testing.T) {
	t.Parallel()
	text := sale.ShortError(errors.New("a" + strings.Repeat("ü", 200)))
	if want := "a" + strings.Repeat("ü", 149); text != want {
		t.Errorf("ShortError = %q, want %q", text, want)
	}
}
