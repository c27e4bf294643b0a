package greenfield_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"chequer/internal/invoice"
	"chequer/internal/merchant"
)

// manner is the manner in which a plug-in does what every shop does. Paths and bodies are as in pluginCall.
type manner struct {
	create string // body for an order of 864.20 EUR
	read   string // path from which it learns the status
	// decline, refund and disconnect are "" if the plug-in has no such call: the merchant uses the desk.
	decline    string // body
	refund     pluginCall
	disconnect string // path
}

const (
	one        = "/stores/STORE/invoices/INVOICE"
	hooks      = "/stores/STORE/webhooks/WEBHOOK"
	toRegister = `{"url":"http://127.0.0.1:9/hook","enabled":true,"automaticRedelivery":true,"authorizedEvents":{"everything":true,"specificEvents":[]},"secret":null}`
	halfRefund = `{"refundVariant":"Custom","customAmount":432.1,"customCurrency":"EUR"}`
)

// manners are the manners of the plug-ins. Amounts are texts, floats, or texts with too many decimals; redirect URLs
// contain unescaped braces; payment methods are spelled in every way. ORDER is the number of an order.
var manners = map[string]manner{
	"woocommerce": {
		create: `{"amount":"864.20","currency":"EUR","metadata":{"orderId":"ORDER","posData":null},"checkout":{"paymentMethods":["BTC_CHAIN","BTC_LN"],"redirectURL":"https://shop.example/order-received/ORDER/?key=wc_{InvoiceId}","redirectAutomatically":true}}`,
		read:   one, decline: `{"status":"Invalid"}`, disconnect: hooks,
		refund: pluginCall{"POST", "/stores/STORE/pull-payments", `{"name":"Refund of order ORDER; broken","description":null,"amount":"432.10","currency":"EUR","autoApproveClaims":false,"paymentMethods":["BTC_CHAIN"],"payoutMethods":["BTC_CHAIN"]}`, `"currency":"EUR","amount":"432.1"`},
	},
	"prestashop": {
		create: `{"amount":864.2000000,"currency":"EUR","metadata":{"orderId":"REF/ORDER"},"checkout":{"speedPolicy":"MediumSpeed","redirectURL":"https://shop.example/validation?invoice_id={InvoiceId}"}}`,
		read:   one, disconnect: hooks,
	},
	"magento": {
		create: `{"amount":"864.2000","currency":"EUR","metadata":{"orderId":"00000ORDER","buyerName":null},"checkout":{"defaultLanguage":"de","redirectURL":"https://shop.example/btcpay/redirect?invoice={InvoiceId}"}}`,
		read:   "/stores/STORE/invoices?orderId=00000ORDER", decline: `{"status":"Invalid"}`, disconnect: hooks,
	},
	"opencart": {
		create: `{"amount":"864.20000000","currency":"EUR","metadata":{"orderId":ORDER},"checkout":{"redirectURL":"https://shop.example/index.php?route=checkout/success"}}`,
		read:   one, disconnect: hooks,
	},
	"shopware": {
		create: `{"amount":864.2,"currency":"EUR","metadata":{"orderId":"ORDER","orderNumber":"ORDER"},"checkout":{"redirectURL":"https://shop.example/payment/finalize-transaction?_sw_payment_token=ey.J"}}`,
		read:   "/stores/STORE/invoices?orderId=ORDER", disconnect: hooks,
	},
	"givewp": {
		create: `{"amount":"864.2","currency":"eur","metadata":{"orderId":"ORDER","donorEmail":"a@example.org"},"checkout":{"redirectURL":"https://give.example/?givewp-route=receipt"}}`,
		read:   one, disconnect: hooks,
	},
	"virtuemart": {
		create: `{"amount":"864.20","currency":"EUR","metadata":{"orderId":"VMORDER"},"checkout":{"paymentMethods":["BTC","BTC-LightningNetwork"],"redirectURL":"https://shop.example/index.php?option=com_virtuemart&on=VMORDER"}}`,
		read:   one,
	},
	"xenforo": {
		create: `{"amount":864.20,"currency":"EUR","metadata":{"orderId":"r:ORDER","itemDesc":"Upgrade"},"checkout":{"speedPolicy":"HighSpeed","paymentTolerance":50,"monitoringMinutes":1440,"expirationMinutes":15}}`,
		read:   "/invoices/INVOICE",
	},
	"wix": {
		create: `{"amount":"864.20","currency":"EUR","metadata":{"orderId":"wORDER"},"checkout":{"redirectURL":"https://shop.example/thank-you"}}`,
		read:   one, refund: pluginCall{"POST", one + "/refund", halfRefund, `"currency":"BTC","amount":"0.005"`},
	},
	"medusa": {
		create: `{"amount":864.2,"currency":"eur","metadata":{"orderId":"cart_1","session_id":"payses_1"},"checkout":null,"receipt":null,"additionalSearchTerms":null}`,
		read:   one, decline: `{"status":"Invalid"}`, refund: pluginCall{"POST", "/invoices/INVOICE/refund", halfRefund, `"currency":"BTC","amount":"0.005"`},
	},
}

// life are the orders of a shop, each with its steps and the status that the plug-in reads afterwards. Steps are as in
// orderSteps, and DECLINE and REFUND.
var life = []struct{ steps, want string }{
	{"", "New None"},
	{"pay 0.005", "New PaidPartial"},
	{"pay 0.005, confirm, pay 0.005", "Processing None"},
	{"pay 0.01", "Processing None"},
	{"pay 0.01, confirm", "Settled None"},
	{"pay 0.02", "Processing None"}, // the surplus counts when it is confirmed
	{"pay 0.02, confirm", "Settled PaidOver"},
	{"expire", "Expired None"},
	{"pay 0.005, expire", "Expired PaidPartial"},
	{"expire, pay 0.01", "Expired None"},
	{"expire, pay 0.01, confirm", "Expired PaidLate"},
	{"DECLINE", "Invalid Marked"},
	{"pay 0.01, confirm, REFUND", "Settled None"},
}

// Every plug-in sells, declines, refunds and disconnects with the scopes of its own key.
func TestPlugins_read_the_status_of_every_case(t *testing.T) {
	t.Parallel()
	for _, p := range merchant.Plugins {
		if p.Name == "other" {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			m, known := manners[p.Name]
			if !known {
				t.Fatal("the plug-in has no manner")
			}
			f := newFixture(t, storageFile(t))
			f.token = f.newToken(f.shop, merchant.Test, p.Name)
			names := map[string]string{"STORE": "test-" + f.shop.ID}
			f.makeCall(pluginCall{"POST", "/stores/STORE/webhooks", toRegister, `"secret":"`}, names)
			for i, o := range life {
				m := m.forOrder(1000 + i)
				f.makeCall(pluginCall{"POST", "/stores/STORE/invoices", m.create, `"amount":"864.20","paidAmount":"0.00","currency":"EUR"`}, names)
				f.liveThrough(m, names, o.steps)
				status, additional, _ := strings.Cut(o.want, " ")
				f.makeCall(pluginCall{"GET", m.read, "", `"status":"` + status + `","additionalStatus":"` + additional + `"`}, names)
			}
			if m.disconnect != "" {
				f.makeCall(pluginCall{"DELETE", m.disconnect, "", ""}, names)
				if got := f.send("GET", strings.NewReplacer("STORE", names["STORE"], "WEBHOOK", names["WEBHOOK"]).Replace(hooks), f.token, ""); got.status != 404 {
					t.Errorf("the webhook after the removal: answer %d: %s", got.status, got.body)
				}
			}
		})
	}
}

// forOrder returns the manner with the number of an order in place of ORDER.
func (m manner) forOrder(number int) manner {
	fill := strings.NewReplacer("ORDER", strconv.Itoa(number))
	m.create, m.read, m.refund.body = fill.Replace(m.create), fill.Replace(m.read), fill.Replace(m.refund.body)
	return m
}

// liveThrough lets steps happen to the last invoice of a plug-in. What the plug-in cannot do is done at the desk.
func (f *fixture) liveThrough(m manner, names map[string]string, steps string) {
	f.t.Helper()
	id, byNetwork := names["INVOICE"], []string{}
	for step := range strings.SplitSeq(steps, ", ") {
		if step != "" && step != "DECLINE" && step != "REFUND" {
			byNetwork = append(byNetwork, step)
		}
	}
	f.orderSteps(id, nil, byNetwork...)
	var err error
	switch isDeclined, isRefunded := strings.HasSuffix(steps, "DECLINE"), strings.HasSuffix(steps, "REFUND"); {
	case isDeclined && m.decline != "":
		f.makeCall(pluginCall{"POST", one + "/status", m.decline, `"additionalStatus":"Marked"`}, names)
	case isDeclined:
		_, err = f.invoices.Cancel(f.t.Context(), id, 0)
	case isRefunded && m.refund.path != "":
		f.makeCall(m.refund, names)
		f.checkRefund(id)
	case isRefunded:
		_, _, err = f.invoices.CreateRefund(f.t.Context(), id, invoice.RefundDraft{Kind: invoice.RefundPart, Asset: "BTC", Fiat: f.invoice(id).Terms.Price, By: "Tove"})
	}
	if err != nil {
		f.t.Fatalf("%s: %v", steps, err)
	}
}

// invoice returns an invoice.
func (f *fixture) invoice(id string) *invoice.Invoice {
	f.t.Helper()
	inv, err := f.invoices.Invoice(f.t.Context(), id)
	if err != nil {
		f.t.Fatal(err)
	}
	return inv
}

// checkRefund checks that a refund waits for the address of the shopper, and that nothing was sent.
func (f *fixture) checkRefund(id string) {
	f.t.Helper()
	if refunds := f.invoice(id).Refunds; len(refunds) != 1 || refunds[0].State != invoice.RefundAsked || refunds[0].Tx != "" {
		f.t.Errorf("got %+v, want one refund that waits for an address", refunds)
	}
}

// The list of payment methods of an invoice has one method as soon as it received money in one: the plug-in for Magento
// refuses a list with two currencies.
func TestInvoiceMethods_list_one_coin_after_a_payment(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storageFile(t))
	for _, steps := range [][]string{{"pay 0.005"}, {"pay 0.01"}, {"pay 0.02", "confirm"}, {"pay 0.005", "expire"}, {"expire", "pay 0.01", "confirm"}, {"pay 0.01", "replace"}} {
		id := f.create(order).ID
		f.orderSteps(id, nil, steps...)
		var ids []string
		for _, m := range call[[]struct{ PaymentMethodID string }](f, "GET", f.store("/invoices/"+id+"/payment-methods"), "") {
			ids = append(ids, m.PaymentMethodID)
		}
		if !slices.Equal(ids, []string{"BTC-CHAIN"}) {
			t.Errorf("%q: got %q, want BTC-CHAIN alone", steps, ids)
		}
	}
}
