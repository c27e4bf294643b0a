package greenfield_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"chequer/internal/merchant"
)

// pluginCall is a call of a plug-in. In paths and bodies STORE, INVOICE and WEBHOOK are the identifiers of the store, the
// last invoice and the last webhook. The methods PAY, CONFIRM and EXPIRE make a payment, a block and the end of the quote.
type pluginCall struct {
	method, path, body string
	want               string // a part of the answer; if it is empty, the answer must be empty
}

// connect are the calls with which most plug-ins check the key and register their webhook.
var connect = []pluginCall{
	{"GET", "/api-keys/current", "", `:STORE"`},
	{"GET", "/stores/STORE", "", `"id":"STORE"`},
	{"POST", "/stores/STORE/webhooks", `{"url":"http://127.0.0.1:9/hook","authorizedEvents":{"everything":false,"specificEvents":["InvoiceReceivedPayment","InvoicePaymentSettled","InvoiceProcessing","InvoiceExpired","InvoiceSettled","InvoiceInvalid"]}}`, `"secret":"`},
	{"GET", "/stores/STORE/webhooks/WEBHOOK", "", `"url":"http://127.0.0.1:9/hook"`},
}

// plugins are the sequences of calls of the plug-ins, with their peculiarities.
var plugins = map[string][]pluginCall{
	"woocommerce": append(connect[:len(connect):len(connect)],
		pluginCall{"GET", "/stores", "", `[{"id":"STORE"`},
		pluginCall{"GET", "/server/info", "", `"version":"2.`},
		pluginCall{"GET", "/stores/STORE/payment-methods", "", `"paymentMethodId":"BTC-CHAIN"`},
		pluginCall{"POST", "/stores/STORE/invoices", `{"amount":"864.20","currency":"EUR","metadata":{"orderId":"17","orderUrl":"https://shop.example/?a=1&b=2","taxIncluded":0},"checkout":{"paymentMethods":["BTC_CHAIN"],"redirectURL":"https://shop.example/checkout/order-received/17/?key=wc_{InvoiceId}","redirectAutomatically":true}}`, `"metadata":{"orderId":"17","orderUrl":"https://shop.example/?a=1&b=2","taxIncluded":0}`},
		pluginCall{"GET", "/stores/STORE/invoices/INVOICE", "", `"status":"New"`},
		pluginCall{"GET", "/stores/STORE/invoices/INVOICE/payment-methods", "", `"paymentMethod":"BTC"`},
		pluginCall{"POST", "/stores/STORE/invoices/INVOICE/status", `{"status":"Invalid"}`, `"additionalStatus":"Marked"`},
		pluginCall{"DELETE", "/stores/STORE/webhooks/WEBHOOK", "", ""},
	),
	"prestashop": {
		{"GET", "/api-keys/current", "", `"btcpay.store.canmodifystoresettings:STORE"`},
		{"GET", "/server/info", "", `"fullySynched":true`},
		{"GET", "/stores/STORE/payment-methods/OnChain", "", `{"enabled":true,"cryptoCode":"BTC","paymentMethod":"BTC"}`},
		{"GET", "/stores/STORE/payment-methods/LightningNetwork", "", `[{"enabled":true,"cryptoCode":"BTC","paymentMethod":"BTC-LightningNetwork"}]`},
		{"GET", "/stores/STORE/webhooks", "", `[]`},
		{"POST", "/stores/STORE/webhooks", `{"url":"http://127.0.0.1:9/hook","enabled":true,"automaticRedelivery":true,"authorizedEvents":{"everything":true,"specificEvents":[]},"secret":"chosen"}`, `"secret":"chosen"`},
		{"POST", "/stores/STORE/invoices", `{"amount":864.2000000,"currency":"EUR","metadata":{"orderId":"REF/1"},"checkout":{"redirectURL":"https://shop.example/validate?id={InvoiceId}"}}`, `"amount":"864.20"`},
		{"PAY", "", whole, ""},
		{"CONFIRM", "", "", ""},
		{"GET", "/stores/STORE/invoices/INVOICE/payment-methods", "", `"rate":"86420"`},
		{"GET", "/stores/STORE/invoices/INVOICE", "", `"status":"Settled"`},
		{"DELETE", "/stores/STORE/webhooks/WEBHOOK", "", ""},
	},
	"magento": append(connect[:len(connect):len(connect)],
		pluginCall{"POST", "/stores/STORE/invoices", `{"amount":"864.20","currency":"EUR","metadata":{"orderId":"000000001"}}`, `"orderId":"000000001"`},
		pluginCall{"GET", "/stores/STORE/invoices?orderId=000000001&orderId=000000002&orderId=000000003", "", `[{"id":"INVOICE"`},
		pluginCall{"PAY", "", half, ""},
		pluginCall{"GET", "/stores/STORE/invoices/INVOICE/payment-methods", "", `[{"paymentMethodId":"BTC-CHAIN"`},
		pluginCall{"EXPIRE", "", "", ""},
		pluginCall{"GET", "/stores/STORE/invoices/INVOICE", "", `"status":"Expired","additionalStatus":"PaidPartial"`},
	),
	"shopware": {
		{"GET", "/stores/STORE/payment-methods", "", `"enabled":true`},
		{"POST", "/stores/STORE/webhooks", `{"url":"http://127.0.0.1:9/hook"}`, `"authorizedEvents":{"everything":true}`},
		{"POST", "/stores/STORE/invoices", `{"amount":864.2,"currency":"EUR","metadata":{"orderId":"10001"},"checkout":{"redirectURL":"https://shop.example/finalize?_sw_payment_token=ey.J"}}`, `"status":"New"`},
		{"PAY", "", "0.02", ""},
		{"CONFIRM", "", "", ""},
		{"GET", "/stores/STORE/invoices?orderId=10001", "", `"status":"Settled","additionalStatus":"PaidOver"`},
	},
	"opencart": append(connect[:len(connect):len(connect)],
		pluginCall{"POST", "/stores/STORE/invoices", `{"amount":"12.50000000","currency":"EUR","metadata":{"orderId":5}}`, `"amount":"12.50"`},
		pluginCall{"GET", "/stores/STORE/invoices/INVOICE", "", `"orderId":5`},
	),
	"givewp": append(connect[:len(connect):len(connect)],
		pluginCall{"POST", "/stores/STORE/invoices", `{"amount":"5","currency":"USD","metadata":null,"checkout":null}`, `"currency":"USD"`},
		pluginCall{"GET", "/stores/STORE/invoices/INVOICE", "", `"metadata":{}`},
	),
	"virtuemart": append(connect[:len(connect):len(connect)],
		pluginCall{"POST", "/stores/STORE/invoices", `{"amount":"864.20","currency":"EUR","checkout":{"paymentMethods":["BTC","BTC-LightningNetwork"]}}`, `"paymentMethods":["BTC-CHAIN","BTC-LN"]`},
		pluginCall{"GET", "/invoices/INVOICE", "", `"status":"New"`},
	),
	"xenforo": append(connect[:len(connect):len(connect)],
		pluginCall{"POST", "/stores/STORE/invoices", `{"amount":"864.20","currency":"EUR","metadata":{"orderId":"r:1"},"checkout":{"speedPolicy":"HighSpeed","paymentTolerance":50}}`, `"paymentTolerance":0`},
		pluginCall{"PAY", "", half, ""},
		pluginCall{"CONFIRM", "", "", ""},
		pluginCall{"GET", "/stores/STORE/invoices/INVOICE", "", `"status":"New","additionalStatus":"PaidPartial"`}, // the tolerance of a caller is ignored
	),
	"wix": {
		{"GET", "/stores/STORE", "", `"id":"STORE"`},
		{"POST", "/stores/STORE/invoices", `{"amount":"19.99","currency":"EUR","metadata":{"orderId":"w","nested":{"a":[1,null]}}}`, `"nested":{"a":[1,null]}`},
	},
	"medusa": {
		{"GET", "/stores", "", `"id":"STORE"`},
		{"POST", "/stores/STORE/invoices", `{"amount":"864.20","currency":"EUR","metadata":{"orderId":"cart_1"}}`, `"status":"New"`},
		{"PUT", "/stores/STORE/invoices/INVOICE", `{"metadata":{"orderId":"order_1","session_id":"s"}}`, `"metadata":{"orderId":"order_1","session_id":"s"}`},
		{"EXPIRE", "", "", ""},
		{"PAY", "", whole, ""},
		{"GET", "/stores/STORE/invoices/INVOICE", "", `"status":"Expired","additionalStatus":"None"`}, // seen, not confirmed
		{"CONFIRM", "", "", ""},
		{"GET", "/stores/STORE/invoices/INVOICE", "", `"status":"Expired","additionalStatus":"PaidLate"`},
		{"DELETE", "/stores/STORE/invoices/INVOICE", "", ""},
		{"GET", "/stores/STORE/invoices", "", "[]"},
	},
}

// The calls of each plug-in succeed with a key that has only the scopes of this plug-in.
func TestPlugins_succeed_with_their_own_scopes(t *testing.T) {
	t.Parallel()
	for _, p := range merchant.Plugins {
		calls, known := plugins[p.Name]
		if !known && p.Name != "other" {
			t.Errorf("%s has no calls", p.Name)
		}
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, storageFile(t))
			f.token = f.newToken(f.shop, merchant.Test, p.Name)
			names := map[string]string{"STORE": "test-" + f.shop.ID}
			var payments []string
			for _, c := range calls {
				switch c.method {
				case "PAY":
					payments = append(payments, f.pay(names["INVOICE"], c.body))
				case "CONFIRM":
					f.confirm(payments...)
				case "EXPIRE":
					f.expire()
				default:
					f.makeCall(c, names)
				}
			}
		})
	}
}

// makeCall makes a call of a plug-in, and records the identifier of the invoice or the webhook that it creates.
func (f *fixture) makeCall(c pluginCall, names map[string]string) {
	f.t.Helper()
	fill := strings.NewReplacer("STORE", names["STORE"], "INVOICE", names["INVOICE"], "WEBHOOK", names["WEBHOOK"])
	path := fill.Replace(c.path)
	a := f.send(c.method, path, f.token, c.body)
	if want := fill.Replace(c.want); a.status != http.StatusOK || !strings.Contains(a.body, want) || want == "" && a.body != "" {
		f.t.Fatalf("%s %s: answer %d: %s, want 200 with %s", c.method, path, a.status, a.body, want)
	}
	for kind, ending := range map[string]string{"INVOICE": "/invoices", "WEBHOOK": "/webhooks"} {
		if c.method == http.MethodPost && strings.HasSuffix(path, ending) {
			var created struct{ ID string }
			if err := json.Unmarshal([]byte(a.body), &created); err != nil {
				f.t.Fatalf("%v: %s", err, a.body)
			}
			names[kind] = created.ID
		}
	}
}
