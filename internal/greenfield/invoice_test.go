package greenfield_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/greenfield"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
)

// view is an invoice as a plug-in reads it.
type view struct {
	ID, StoreID, Amount, PaidAmount, Currency, Type, CheckoutLink, Status, AdditionalStatus string
	CreatedTime, ExpirationTime, MonitoringExpiration                                       int64
	AvailableStatusesForManualMarking                                                       []string
	Archived                                                                                bool
	Metadata                                                                                json.RawMessage
	Checkout                                                                                struct {
		PaymentMethods               []string
		ExpirationMinutes            int64
		RedirectURL, DefaultLanguage string
		RedirectAutomatically        bool
	}
}

// create creates an invoice.
func (f *fixture) create(body string) view {
	f.t.Helper()
	return call[view](f, "POST", f.store("/invoices"), body)
}

// pay pays an amount of Bitcoin to an invoice, and returns the transaction.
func (f *fixture) pay(id, amount string) (tx string) {
	f.t.Helper()
	inv, err := f.invoices.Invoice(f.t.Context(), id)
	if err != nil {
		f.t.Fatal(err)
	}
	m, known := inv.Method("simnet", "BTC")
	if !known {
		f.t.Fatal("the invoice has no method BTC")
	}
	tx, err = f.simnet.Pay(f.t.Context(), m.Asset, m.Destination.Script, money.MustParse(amount, money.BTC))
	if err != nil {
		f.t.Fatal(err)
	}
	f.watch()
	return tx
}

// confirm mines a block with transactions, and as many blocks as any price needs.
func (f *fixture) confirm(txs ...string) {
	f.t.Helper()
	for range 6 {
		if err := f.simnet.Confirm(f.t.Context(), txs); err != nil {
			f.t.Fatal(err)
		}
		txs = nil
	}
	f.watch()
}

// expire lets the price of all invoices run out.
func (f *fixture) expire() {
	f.t.Helper()
	f.clock.Advance(20 * time.Minute)
	for range 2 { // a payment request for the rest may be added meanwhile, which postpones the check
		f.clock.Advance(time.Minute)
		f.watch()
		if _, err := f.invoices.Expire(f.t.Context(), 100); err != nil {
			f.t.Fatal(err)
		}
	}
}

// whole and half are amounts of Bitcoin for an invoice of 864.20 EUR.
const (
	whole = "0.01"
	half  = "0.005"
)

const order = `{"amount":"864.20","currency":"EUR"}`

func TestCreateInvoice_returns_the_stored_invoice(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		got := f.create(`{"amount":"12.50000000","currency":"eur","unknown":[1],"additionalSearchTerms":null,
			"metadata":{"orderId":4711,"buyerName":"Ada <b>","itemDesc":null},
			"checkout":{"redirectURL":"https://shop.example/thanks?i={InvoiceId}&o={OrderId}","speedPolicy":"HighSpeed","expirationMinutes":5,
				"monitoringMinutes":null,"paymentTolerance":99,"defaultLanguage":"de-DE","paymentMethods":["BTC_CHAIN","DOGE-CHAIN","ltc-onchain"],"redirectAutomatically":true}}`)
		if len(got.ID) != 32 {
			t.Fatalf("got %+v, want an ID of 32 characters", got)
		}
		want := view{
			ID: got.ID, StoreID: "test-m_atelier-nord", Amount: "12.50", PaidAmount: "0.00", Currency: "EUR", Type: "Standard",
			CheckoutLink: "https://pay.example/shop/i/" + got.ID, Status: "New", AdditionalStatus: "None",
			CreatedTime: noon.Unix(), ExpirationTime: noon.Add(5 * time.Minute).Unix(), MonitoringExpiration: noon.Add(5*time.Minute + 30*24*time.Hour).Unix(),
			AvailableStatusesForManualMarking: []string{"Invalid"}, Metadata: json.RawMessage(`{"orderId":4711,"buyerName":"Ada <b>","itemDesc":null}`),
		}
		want.Checkout.PaymentMethods, want.Checkout.ExpirationMinutes = []string{"BTC-CHAIN", "LTC-CHAIN"}, 5
		want.Checkout.RedirectURL, want.Checkout.RedirectAutomatically = "https://shop.example/thanks?i="+got.ID+"&o=4711", true
		want.Checkout.DefaultLanguage = "de-DE"
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for _, path := range []string{f.store("/invoices/" + got.ID), "/invoices/" + got.ID} {
			if diff := cmp.Diff(want, call[view](f, "GET", path, "")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", path, diff)
			}
		}
		// The depth that payments need is that of the merchant, and the invoice is one of the domain.
		inv, err := f.invoices.Invoice(t.Context(), got.ID)
		if err != nil || inv.Terms.OrderID != "4711" || inv.Terms.Merchant != "Atelier Nord" || !inv.Terms.Rules.Tolerance.IsZero() || inv.Origin.Kind != invoice.FromAPI {
			t.Errorf("got %+v, error %v", inv, err)
		}
	})
}

func TestCreateInvoice_rounds_amounts_half_up(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storageFile(t))
	yen, _ := money.Fiat("JPY")
	f.config.Prices = merchant.NewPrices([]money.Currency{yen}, "1000000")
	f.handler = greenfield.New(f.config)
	for amount, want := range map[string]string{
		`"12.50000000"`: "12.50", `12.5`: "12.50", `"12.345"`: "12.35", `12.344999999999`: "12.34", `"012.5"`: "12.50", `1.25e1`: "12.50", `"20"`: "20.00",
		`19.995`: "20.00", `0.005`: "0.01", `" 7 "`: "7.00",
	} {
		a := f.send("POST", f.store("/invoices"), f.token, `{"currency":"EUR","amount":`+amount+`}`)
		var got view
		if err := json.Unmarshal([]byte(a.body), &got); want == "0.01" {
			continue // too small for the payment methods, see below
		} else if err != nil || got.Amount != want {
			t.Errorf("amount %s: answer %d: %s, want %s", amount, a.status, a.body, want)
		}
	}
}

func TestCreateInvoice_refuses_invalid_bodies(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storageFile(t))
	for body, want := range map[string]string{
		`{"currency":"EUR"}`:                     `[{"path":"amount","message":"The amount is required: this server creates no invoices without an amount"}]`,
		`{"currency":"EUR","amount":null}`:       `[{"path":"amount","message":"The amount is required: this server creates no invoices without an amount"}]`,
		`{"currency":"EUR","amount":"-5"}`:       `[{"path":"amount","message":"The amount must not be negative"}]`,
		`{"currency":"EUR","amount":"12,50"}`:    `[{"path":"amount","message":"The amount must be a number, digits with at most one dot, such as 12.50"}]`,
		`{"currency":"EUR","amount":"1e999"}`:    `[{"path":"amount","message":"The amount must have an exponent from -18 to 18"}]`,
		`{"currency":"EUR","amount":0.004}`:      `[{"path":"amount","message":"The amount must be more than 0"}]`,
		`{"currency":"EUR","amount":1000000.01}`: `[{"path":"amount","message":"The amount must be at most 1000000 EUR"}]`,
		`{"currency":"EUR","amount":true}`:       `[{"path":"amount","message":"The value must not be a JSON boolean"}]`,
		`{"currency":"BTC","amount":"0.1"}`:      `[{"path":"currency","message":"The currency must be EUR or USD"}]`,
		`{"currency":"SATS","amount":"100"}`:     `[{"path":"currency","message":"The currency must be EUR or USD"}]`,
		`{"currency":"CHF","amount":"100"}`:      `[{"path":"currency","message":"The currency must be EUR or USD; the setting CHEQUER_FIAT adds CHF"}]`,
		`{"amount":"100"}`:                       `[{"path":"currency","message":"The currency must be EUR or USD"}]`,
		`{"currency":"EUR","amount":"5","checkout":{"redirectURL":"javascript:alert(1)"}}`:      `[{"path":"checkout.redirectURL","message":"The redirect URL must be an absolute https address with a host name, and without a user name"}]`,
		`{"currency":"EUR","amount":"5","checkout":{"paymentMethods":["DOGE-CHAIN","XMR-LN"]}}`: `[{"path":"checkout.paymentMethods","message":"The payment methods are not offered by this server"}]`,
		`{"currency":"EUR","amount":"5","metadata":"` + strings.Repeat("x", 64<<10) + `"}`:      `[{"path":"metadata","message":"The metadata must have at most 65536 bytes"}]`,
		`{"currency":"EUR","amount":"5","checkout":[]}`:                                         `[{"path":"checkout","message":"The value must not be a JSON array"}]`,
	} {
		a := f.send("POST", f.store("/invoices"), f.token, body)
		if a.status != http.StatusUnprocessableEntity || a.body != want {
			t.Errorf("%.80s: answer %d: %s, want %s", body, a.status, a.body, want)
		}
	}
	for body, want := range map[string]int{
		"": 400, "[]": 400, "{": 400, `{"amount":"5","currency":"EUR","metadata":"` + "\xff" + `"}`: 400, strings.Repeat(" ", 100<<10) + order: 413,
	} {
		if a := f.send("POST", f.store("/invoices"), f.token, body); a.status != want {
			t.Errorf("%.40q: answer %d: %s, want %d", body, a.status, a.body, want)
		}
	}
	live := f.newToken(f.shop, merchant.Live, "woocommerce")
	if a := f.send("POST", "/stores/"+f.shop.ID+"/invoices", live, order); a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, `"code":"no-wallet"`) {
		t.Errorf("without a wallet: answer %d: %s", a.status, a.body)
	}
}

// Metadata are any JSON, and come back byte for byte.
func TestMetadata_are_returned_byte_for_byte(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		for _, metadata := range []string{
			`{}`, `[]`, `"text"`, `12.500`, `false`, `{ "a" : [ 1.0 , {"b":null} ],	"<&>":"\u00e9é\/  ` + "\u2028" + `" }`,
			`{"a":1,"a":2}`, `{"orderId":{"nested":true}}`, `{"orderId":"` + strings.Repeat("9", 200) + `"}`, `{"text":"\u0000 \ud800"}`,
			`"` + strings.Repeat("é", 32<<10-1) + `"`,
		} {
			got := f.create(`{"amount":"5","currency":"EUR","metadata": ` + metadata + ` }`)
			if string(got.Metadata) != metadata {
				t.Errorf("created: got %.100s, want %.100s", got.Metadata, metadata)
			}
			if read := call[view](f, "GET", "/invoices/"+got.ID, ""); string(read.Metadata) != metadata {
				t.Errorf("read: got %.100s, want %.100s", read.Metadata, metadata)
			}
		}
		inv := f.create(order)
		if string(inv.Metadata) != `{}` {
			t.Errorf("without metadata: got %s", inv.Metadata)
		}
		changed := call[view](f, "PUT", f.store("/invoices/"+inv.ID), `{"metadata": {"orderId": "A  1"}}`)
		if string(changed.Metadata) != `{"orderId": "A  1"}` {
			t.Errorf("replaced: got %s", changed.Metadata)
		}
		if changed = call[view](f, "PUT", "/invoices/"+inv.ID, `{"metadata":[]}`); string(changed.Metadata) != `[]` {
			t.Errorf("replaced again: got %s", changed.Metadata)
		}
		if changed = call[view](f, "PUT", "/invoices/"+inv.ID, `{}`); string(changed.Metadata) != `[]` {
			t.Errorf("no metadata: got %s", changed.Metadata)
		}
	})
}

func TestStatus_of_an_invoice(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		settler := f.newToken(f.shop, merchant.Test, "medusa", merchant.ScopeSettleInvoices)
		status := func(want, id string) {
			t.Helper()
			got := call[view](f, "GET", "/invoices/"+id, "")
			if got := got.Status + " " + got.AdditionalStatus + " " + got.PaidAmount; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		paid := f.create(order).ID
		status("New None 0.00", paid)
		first := f.pay(paid, half)
		status("New PaidPartial 432.10", paid)
		second := f.pay(paid, half)
		status("Processing None 864.20", paid)
		f.confirm(first, second)
		status("Settled None 864.20", paid)

		over := f.create(order).ID
		tx := f.pay(over, "0.02")
		f.confirm(tx)
		status("Settled PaidOver 1728.40", over)

		unpaid, part, late, unconfirmed := f.create(order).ID, f.create(order).ID, f.create(order).ID, f.create(order).ID
		f.pay(part, half)
		f.expire()
		status("Expired None 0.00", unpaid)
		status("Expired PaidPartial 432.10", part)
		tx = f.pay(late, half)
		f.confirm(tx)
		status("Expired None 0.00", late)
		tx = f.pay(late, half)
		status("Expired None 0.00", late)
		f.confirm(tx)
		status("Expired PaidLate 0.00", late)
		f.pay(unconfirmed, whole)
		status("Expired None 0.00", unconfirmed)

		a := f.send("POST", f.store("/invoices/"+late+"/status"), settler, `{"status":"Settled"}`)
		if a.status != http.StatusOK {
			t.Errorf("settle: answer %d: %s", a.status, a.body)
		}
		status("Settled Marked 864.20", late)

		cancelled := f.create(order).ID
		if got := call[view](f, "POST", f.store("/invoices/"+cancelled+"/status"), `{"status":"Invalid"}`); got.Status != "Invalid" || got.AdditionalStatus != "Marked" {
			t.Errorf("cancelled: got %+v, want Invalid, Marked", got)
		}
		status("Invalid Marked 0.00", cancelled)
	})
}

// A payment that disappears after the invoice was paid makes it Invalid, or Processing while it waits for another block.
func TestStatus_of_a_reverted_invoice(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storageFile(t))
	id := f.create(order).ID
	tx := f.pay(id, whole)
	f.confirm(tx)
	if err := f.simnet.Reorganise(t.Context(), []string{tx}); err != nil {
		t.Fatal(err)
	}
	f.watch()
	if got := call[view](f, "GET", "/invoices/"+id, ""); got.Status != "Processing" && got.Status != "Invalid" {
		t.Errorf("got %s, want Processing or Invalid", got.Status)
	}
}

func TestSetStatus_refuses_invalid_changes(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storageFile(t))
	settler := f.newToken(f.shop, merchant.Test, "medusa", merchant.ScopeSettleInvoices)
	paid, unpaid := f.create(order).ID, f.create(order).ID
	f.confirm(f.pay(paid, whole))
	for _, tt := range []struct {
		id, token, body string
		status          int
		want            string
	}{
		{paid, f.token, `{"status":"Settled"}`, 403, `"missingPermission":"btcpay.store.cansettleinvoices"`},
		{paid, settler, `{"status":"Invalid"}`, 422, `[{"path":"status","message":"The invoice does not allow this status now"}]`},
		{unpaid, settler, `{"status":"Settled"}`, 422, `[{"path":"status","message":"The invoice does not allow this status now"}]`},
		{unpaid, settler, `{"status":"Expired"}`, 422, `[{"path":"status","message":"The status must be Settled or Invalid"}]`},
		{unpaid, settler, `{}`, 422, `[{"path":"status","message":"The status must be Settled or Invalid"}]`},
	} {
		a := f.send("POST", f.store("/invoices/"+tt.id+"/status"), tt.token, tt.body)
		if a.status != tt.status || !strings.Contains(a.body, tt.want) {
			t.Errorf("%s: answer %d: %s, want %d with %s", tt.body, a.status, a.body, tt.status, tt.want)
		}
	}
}

func TestInvoices_of_other_shops_and_modes_are_not_found(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		id := f.create(order).ID
		other := f.createShop("Bakery")
		const unknown = `{"code":"invoice-not-found","message":"The invoice was not found"}`
		for name, token := range map[string]string{
			"another shop": f.newToken(other, merchant.Test, "other"), "the live store": f.newToken(f.shop, merchant.Live, "other"),
		} {
			for _, tt := range []struct{ method, path, body string }{
				{"GET", "", ""}, {"PUT", "", `{"metadata":{}}`}, {"DELETE", "", ""}, {"GET", "/payment-methods", ""}, {"POST", "/status", `{"status":"Invalid"}`},
			} {
				if a := f.send(tt.method, "/invoices/"+id+tt.path, token, tt.body); a.status != http.StatusNotFound || a.body != unknown {
					t.Errorf("%s: %s %s: answer %d: %s", name, tt.method, tt.path, a.status, a.body)
				}
				if a := f.send(tt.method, f.store("/invoices/"+id+tt.path), token, tt.body); a.status != http.StatusForbidden {
					t.Errorf("%s: %s of the store %s: answer %d: %s", name, tt.method, tt.path, a.status, a.body)
				}
			}
		}
		for _, id := range []string{"nothing", strings.Repeat("x", 32), "%00", "a.b"} {
			if a := f.send("GET", "/invoices/"+id, f.token, ""); a.status != http.StatusNotFound || a.body != unknown {
				t.Errorf("%q: answer %d: %s", id, a.status, a.body)
			}
		}
		if got := call[view](f, "GET", "/invoices/"+id, ""); got.Archived || got.Status != "New" {
			t.Errorf("got %+v, want it unchanged", got)
		}
	})
}

func TestInvoiceMethods_list_payments_with_their_status(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		type payment struct {
			ID, Value, Fee, Status, Destination string
			ReceivedDate                        int64
		}
		type method struct {
			PaymentMethodID, PaymentMethod, Currency, CryptoCode, Destination, PaymentLink, Rate, PaymentMethodPaid, TotalPaid, Due, Amount, PaymentMethodFee, NetworkFee string
			Activated                                                                                                                                                     bool
			Payments                                                                                                                                                      []payment
		}
		id := f.create(order).ID
		path := f.store("/invoices/" + id + "/payment-methods")
		all := call[[]method](f, "GET", path, "")
		if len(all) < 4 || all[0].PaymentMethodID != "BTC-CHAIN" || len(all[0].Payments) != 0 || all[0].Due != whole || all[0].Amount != whole {
			t.Fatalf("without payments: got %+v", all)
		}
		tx := f.pay(id, half)
		got := call[[]method](f, "GET", path, "")
		want := []method{{
			PaymentMethodID: "BTC-CHAIN", PaymentMethod: "BTC", Currency: "BTC", CryptoCode: "BTC", Destination: all[0].Destination, Rate: "86420",
			PaymentLink:       fmt.Sprintf("bitcoin:%s?amount=%s&label=Atelier%%20Nord", all[0].Destination, half),
			PaymentMethodPaid: half, TotalPaid: half, Due: half, Amount: whole, PaymentMethodFee: "0", NetworkFee: "0", Activated: true,
			Payments: []payment{{ID: tx + "-0", Value: half, Fee: "0", Status: "Processing", Destination: all[0].Destination, ReceivedDate: noon.Unix()}},
		}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		f.confirm(tx)
		if got := call[[]method](f, "GET", path, ""); got[0].Payments[0].Status != "Settled" {
			t.Errorf("confirmed: got %+v, want a settled payment", got)
		}
	})
}

// Every spelling of a payment method selects it.
func TestSpellings_of_payment_methods(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storageFile(t))
	for spelling, want := range map[string]string{
		"BTC": "BTC-CHAIN", "btc": "BTC-CHAIN", "BTC_CHAIN": "BTC-CHAIN", "BTC-OnChain": "BTC-CHAIN", "Ltc-Chain": "LTC-CHAIN", "EURC-BASE": "EURC-BASE",
		"eurc_base": "EURC-BASE", "USDC": "USDC-ETHEREUM", "USDC-ETHEREUM": "USDC-ETHEREUM",
		"BTC-LN": "BTC-LN", "btc_ln": "BTC-LN", "BTC-LightningNetwork": "BTC-LN", "BTC_LightningLike": "BTC-LN", "BTC-OffChain": "BTC-LN",
	} {
		got := f.create(`{"amount":"5","currency":"EUR","checkout":{"paymentMethods":["` + spelling + `"]}}`)
		if diff := cmp.Diff([]string{want}, got.Checkout.PaymentMethods); diff != "" {
			t.Errorf("%s (-want +got):\n%s", spelling, diff)
		}
	}
	for _, spelling := range []string{"LTC-LN", "LTC-LightningNetwork", "LightningNetwork", "", "BTC-"} {
		a := f.send("POST", f.store("/invoices"), f.token, `{"amount":"5","currency":"EUR","checkout":{"paymentMethods":["`+spelling+`"]}}`)
		if a.status != http.StatusUnprocessableEntity {
			t.Errorf("%q: answer %d: %s", spelling, a.status, a.body)
		}
	}
}

// The page leads back to the shop by itself only if the plug-in asks for it, and the answer says what was asked.
func TestCreateInvoice_returns_automatically_only_if_asked(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		for asked, want := range map[string]bool{
			``: false, `,"redirectAutomatically":null`: false, `,"redirectAutomatically":false`: false, `,"redirectAutomatically":"false"`: false, `,"redirectAutomatically":0`: false,
			`,"redirectAutomatically":true`: true, `,"redirectAutomatically":"true"`: true, `,"redirectAutomatically":1`: true,
		} {
			got := f.create(`{"amount":"12.50","currency":"EUR","checkout":{"redirectURL":"https://shop.example/"` + asked + `}}`)
			inv, err := f.invoices.Invoice(t.Context(), got.ID)
			if err != nil || got.Checkout.RedirectAutomatically != want || inv.Terms.StayOnPage == want {
				t.Errorf("%s: got %t, page stays %t, error %v", asked, got.Checkout.RedirectAutomatically, inv.Terms.StayOnPage, err)
			}
		}
		if got := f.create(`{"amount":"12.50","currency":"EUR","checkout":{"redirectAutomatically":true}}`); got.Checkout.RedirectAutomatically {
			t.Error("an invoice without an address returns to it")
		}
		if a := f.send("POST", f.store("/invoices"), f.token, `{"amount":"1","currency":"EUR","checkout":{"redirectAutomatically":{}}}`); a.status != http.StatusUnprocessableEntity {
			t.Errorf("an object: answer %d: %s, want 422", a.status, a.body)
		}
	})
}

// The identifiers in a redirect URL are escaped for the part of the URL in which they stand.
func TestCreateInvoice_escapes_redirect_URL(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storageFile(t))
	for template, want := range map[string]string{
		"https://shop.example/{OrderId}/{InvoiceId}":         "https://shop.example/A%20%2F%3F&%C3%A9+1/ID",
		"https://shop.example/?o={OrderId}&i={InvoiceId}":    "https://shop.example/?o=A+%2F%3F%26%C3%A9%2B1&i=ID",
		"https://shop.example/%7BOrderId%7D?o=%7BOrderId%7D": "https://shop.example/A%20%2F%3F&%C3%A9+1?o=A+%2F%3F%26%C3%A9%2B1",
		"https://shop.example/?a=1?o={OrderId}":              "https://shop.example/?a=1?o=A+%2F%3F%26%C3%A9%2B1",
	} {
		got := f.create(`{"amount":"12.50","currency":"EUR","metadata":{"orderId":"A /?&é+1"},"checkout":{"redirectURL":"` + template + `"}}`)
		if want = strings.ReplaceAll(want, "ID", got.ID); got.Checkout.RedirectURL != want {
			t.Errorf("%s: got %s, want %s", template, got.Checkout.RedirectURL, want)
		}
	}
}

// An invoice leads back to a shop of a private network over plain http, as a shop there can be connected.
func TestCreateInvoice_for_a_shop_in_a_private_network(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storageFile(t))
	for to, want := range map[string]int{
		"https://shop.example/": 200, "http://192.168.1.20:8080/?key={InvoiceId}": 200, "http://127.0.0.1/": 200, "http://web.local/": 200, "http://shop.onion/": 200, "": 200,
		"http://shop.example/": 422, "http://8.8.8.8/": 422, "http://134744072/": 422, "http://user@192.168.1.20/": 422, "ftp://192.168.1.20/": 422,
	} {
		if a := f.send("POST", f.store("/invoices"), f.token, `{"amount":"1","currency":"EUR","checkout":{"redirectURL":"`+to+`"}}`); a.status != want {
			t.Errorf("%s: answer %d: %s, want %d", to, a.status, a.body, want)
		}
	}
}
