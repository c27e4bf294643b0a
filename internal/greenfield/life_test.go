package greenfield_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"chequer/internal/invoice"
	"chequer/internal/merchant"
)

// orderCalls are the calls that a plug-in makes for an order. Paths and bodies are as in pluginCall.
type orderCalls struct {
	create string // body for an order of 864.20 EUR
	read   string // path from which it learns the status
	// decline, refund and disconnect are empty if the plug-in makes no such call, so that the merchant uses the desk.
	decline    string // body
	refund     pluginCall
	disconnect string // path
}

const (
	invoicePath = "/stores/STORE/invoices/INVOICE"
	webhookPath = "/stores/STORE/webhooks/WEBHOOK"
	webhookBody = `{"url":"http://127.0.0.1:9/hook","enabled":true,"automaticRedelivery":true,"authorizedEvents":{"everything":true,"specificEvents":[]},"secret":null}`
	halfRefund  = `{"refundVariant":"Custom","customAmount":432.1,"customCurrency":"EUR"}`
)

// orderCallsOf are the calls of each plug-in. Amounts are texts, floats, or texts with too many decimals; redirect URLs
// contain unescaped braces; payment methods have different spellings. ORDER is the number of an order.
var orderCallsOf = map[string]orderCalls{
	"woocommerce": {
		create: `{"amount":"864.20","currency":"EUR","metadata":{"orderId":"ORDER","posData":null},"checkout":{"paymentMethods":["BTC_CHAIN","BTC_LN"],"redirectURL":"https://shop.example/order-received/ORDER/?key=wc_{InvoiceId}","redirectAutomatically":true}}`,
		read:   invoicePath, decline: `{"status":"Invalid"}`, disconnect: webhookPath,
		refund: pluginCall{"POST", "/stores/STORE/pull-payments", `{"name":"Refund of order ORDER; broken","description":null,"amount":"432.10","currency":"EUR","autoApproveClaims":false,"paymentMethods":["BTC_CHAIN"],"payoutMethods":["BTC_CHAIN"]}`, `"currency":"EUR","amount":"432.1"`},
	},
	"prestashop": {
		create: `{"amount":864.2000000,"currency":"EUR","metadata":{"orderId":"REF/ORDER"},"checkout":{"speedPolicy":"MediumSpeed","redirectURL":"https://shop.example/validation?invoice_id={InvoiceId}"}}`,
		read:   invoicePath, disconnect: webhookPath,
	},
	"magento": {
		create: `{"amount":"864.2000","currency":"EUR","metadata":{"orderId":"00000ORDER","buyerName":null},"checkout":{"defaultLanguage":"de","redirectURL":"https://shop.example/btcpay/redirect?invoice={InvoiceId}"}}`,
		read:   "/stores/STORE/invoices?orderId=00000ORDER", decline: `{"status":"Invalid"}`, disconnect: webhookPath,
	},
	"opencart": {
		create: `{"amount":"864.20000000","currency":"EUR","metadata":{"orderId":ORDER},"checkout":{"redirectURL":"https://shop.example/index.php?route=checkout/success"}}`,
		read:   invoicePath, disconnect: webhookPath,
	},
	"shopware": {
		create: `{"amount":864.2,"currency":"EUR","metadata":{"orderId":"ORDER","orderNumber":"ORDER"},"checkout":{"redirectURL":"https://shop.example/payment/finalize-transaction?_sw_payment_token=ey.J"}}`,
		read:   "/stores/STORE/invoices?orderId=ORDER", disconnect: webhookPath,
	},
	"givewp": {
		create: `{"amount":"864.2","currency":"eur","metadata":{"orderId":"ORDER","donorEmail":"a@example.org"},"checkout":{"redirectURL":"https://give.example/?givewp-route=receipt"}}`,
		read:   invoicePath, disconnect: webhookPath,
	},
	"virtuemart": {
		create: `{"amount":"864.20","currency":"EUR","metadata":{"orderId":"VMORDER"},"checkout":{"paymentMethods":["BTC","BTC-LightningNetwork"],"redirectURL":"https://shop.example/index.php?option=com_virtuemart&on=VMORDER"}}`,
		read:   invoicePath,
	},
	"xenforo": {
		create: `{"amount":864.20,"currency":"EUR","metadata":{"orderId":"r:ORDER","itemDesc":"Upgrade"},"checkout":{"speedPolicy":"HighSpeed","paymentTolerance":50,"monitoringMinutes":1440,"expirationMinutes":15}}`,
		read:   "/invoices/INVOICE",
	},
	"wix": {
		create: `{"amount":"864.20","currency":"EUR","metadata":{"orderId":"wORDER"},"checkout":{"redirectURL":"https://shop.example/thank-you"}}`,
		read:   invoicePath, refund: pluginCall{"POST", invoicePath + "/refund", halfRefund, `"currency":"BTC","amount":"0.005"`},
	},
	"medusa": {
		create: `{"amount":864.2,"currency":"eur","metadata":{"orderId":"cart_1","session_id":"payses_1"},"checkout":null,"receipt":null,"additionalSearchTerms":null}`,
		read:   invoicePath, decline: `{"status":"Invalid"}`, refund: pluginCall{"POST", "/invoices/INVOICE/refund", halfRefund, `"currency":"BTC","amount":"0.005"`},
	},
}

// orderCases are orders of a shop, each with its steps and the status that the plug-in reads afterwards. Steps are as in
// applySteps, or the last one is DECLINE or REFUND.
var orderCases = []struct{ steps, want string }{
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

// Every plug-in creates, reads, declines and refunds invoices, and disconnects, with the scopes of its own key.
func TestPlugins_read_the_status_of_every_case(t *testing.T) {
	t.Parallel()
	for _, p := range merchant.Plugins {
		if p.Name == "other" {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			calls, known := orderCallsOf[p.Name]
			if !known {
				t.Fatal("orderCallsOf has no calls of the plug-in")
			}
			f := newFixture(t, storageFile(t))
			f.token = f.newToken(f.shop, merchant.Test, p.Name)
			names := map[string]string{"STORE": "test-" + f.shop.ID}
			f.makeCall(pluginCall{"POST", "/stores/STORE/webhooks", webhookBody, `"secret":"`}, names)
			for i, o := range orderCases {
				calls := calls.forOrder(1000 + i)
				f.makeCall(pluginCall{"POST", "/stores/STORE/invoices", calls.create, `"amount":"864.20","paidAmount":"0.00","currency":"EUR"`}, names)
				f.carryOut(calls, names, o.steps)
				status, additional, _ := strings.Cut(o.want, " ")
				f.makeCall(pluginCall{"GET", calls.read, "", `"status":"` + status + `","additionalStatus":"` + additional + `"`}, names)
			}
			if calls.disconnect != "" {
				f.makeCall(pluginCall{"DELETE", calls.disconnect, "", ""}, names)
				if got := f.send("GET", strings.NewReplacer("STORE", names["STORE"], "WEBHOOK", names["WEBHOOK"]).Replace(webhookPath), f.token, ""); got.status != 404 {
					t.Errorf("the webhook after the removal: answer %d: %s, want 404", got.status, got.body)
				}
			}
		})
	}
}

// forOrder returns the calls with the number of an order in place of ORDER.
func (o orderCalls) forOrder(number int) orderCalls {
	fill := strings.NewReplacer("ORDER", strconv.Itoa(number))
	o.create, o.read, o.refund.body = fill.Replace(o.create), fill.Replace(o.read), fill.Replace(o.refund.body)
	return o
}

// carryOut applies steps to the last invoice of a plug-in. A step for which the plug-in has no call is done at the desk.
func (f *fixture) carryOut(calls orderCalls, names map[string]string, steps string) {
	f.t.Helper()
	id, byNetwork := names["INVOICE"], []string{}
	for step := range strings.SplitSeq(steps, ", ") {
		if step != "" && step != "DECLINE" && step != "REFUND" {
			byNetwork = append(byNetwork, step)
		}
	}
	f.applySteps(id, nil, byNetwork...)
	var err error
	switch isDeclined, isRefunded := strings.HasSuffix(steps, "DECLINE"), strings.HasSuffix(steps, "REFUND"); {
	case isDeclined && calls.decline != "":
		f.makeCall(pluginCall{"POST", invoicePath + "/status", calls.decline, `"additionalStatus":"Marked"`}, names)
	case isDeclined:
		_, err = f.invoices.Cancel(f.t.Context(), id, 0)
	case isRefunded && calls.refund.path != "":
		f.makeCall(calls.refund, names)
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

// checkRefund fails unless the invoice has one refund, which waits for the address of the shopper and has no transaction.
func (f *fixture) checkRefund(id string) {
	f.t.Helper()
	if refunds := f.invoice(id).Refunds; len(refunds) != 1 || refunds[0].State != invoice.RefundAsked || refunds[0].Tx != "" {
		f.t.Errorf("got %+v, want one refund that waits for an address", refunds)
	}
}

// The list of payment methods of an invoice that received money has only the method of that money: the plug-in for Magento
// refuses a list with two currencies.
func TestInvoiceMethods_list_one_coin_after_a_payment(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storageFile(t))
	for _, steps := range [][]string{{"pay 0.005"}, {"pay 0.01"}, {"pay 0.02", "confirm"}, {"pay 0.005", "expire"}, {"expire", "pay 0.01", "confirm"}, {"pay 0.01", "replace"}} {
		id := f.create(order).ID
		f.applySteps(id, nil, steps...)
		var ids []string
		for _, m := range call[[]struct{ PaymentMethodID string }](f, "GET", f.store("/invoices/"+id+"/payment-methods"), "") {
			ids = append(ids, m.PaymentMethodID)
		}
		if !slices.Equal(ids, []string{"BTC-CHAIN"}) {
			t.Errorf("%q: got %q, want BTC-CHAIN alone", steps, ids)
		}
	}
}
