package greenfield_test

import (
	"net/http"
	"strings"
	"testing"
)

// No request is answered with an internal error.
func TestOdd_requests_cause_no_internal_error(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		list := f.store("/invoices")
		deep := strings.Repeat("[", 9990) + strings.Repeat("]", 9990)
		id := f.create(order).ID
		for _, c := range []struct{ method, path, body string }{
			{"GET", list + "?orderId=%00", ""}, {"GET", list + "?orderId=a%ff", ""}, {"GET", list + "?textSearch=%00", ""}, {"GET", list + "?textSearch=a%00b", ""},
			{"GET", list + "?startDate=68719476735&endDate=1", ""}, {"GET", list + "?startDate=0001-01-01T00:00:00Z", ""}, {"GET", list + "?startDate=9999-12-31T23:59:59Z", ""},
			{"GET", list + "?status=", ""}, {"GET", list + "?take=0", ""}, {"GET", list + "?skip=10000", ""},
			{"POST", list, `null`}, {"POST", list, `[]`}, {"POST", list, `"x"`}, {"POST", list, ``}, {"POST", list, `{"checkout":null}`}, {"POST", list, `{"checkout":[]}`},
			{"POST", list, `{"amount":1e400,"currency":"EUR"}`}, {"POST", list, `{"amount":"1e308","currency":"EUR"}`}, {"POST", list, `{"amount":1e-400,"currency":"EUR"}`},
			{"POST", list, `{"amount":{},"currency":"EUR"}`}, {"POST", list, `{"amount":true,"currency":"EUR"}`}, {"POST", list, `{"amount":"1","currency":{}}`},
			{"POST", list, `{"amount":"` + strings.Repeat("9", 90000) + `","currency":"EUR"}`}, {"POST", list, `{"amount":"1/3","currency":"EUR"}`},
			{"POST", list, `{"amount":"1,234.00","currency":"EUR"}`}, {"POST", list, `{"amount":"1,50","currency":"EUR"}`}, {"POST", list, `{"amount":"0x10","currency":"EUR"}`},
			{"POST", list, `{"amount":"10","currency":"EUR\u0000"}`}, {"POST", list, `{"amount":"10","currency":"JPY"}`},
			{"POST", list, `{"amount":"10","currency":"EUR","metadata":` + deep + `}`},
			{"POST", list, `{"amount":"10","currency":"EUR","metadata":{"orderId":"\ud800"}}`}, {"POST", list, `{"amount":"10","currency":"EUR","metadata":{"orderId":"a\u0000b"}}`},
			{"POST", list, `{"amount":"10","currency":"EUR","metadata":{"orderId":1e999}}`}, {"POST", list, `{"amount":"10","currency":"EUR","metadata":{"orderId":["x"]}}`},
			{"POST", list, `{"amount":"10","currency":"EUR","checkout":{"expirationMinutes":1e300}}`}, {"POST", list, `{"amount":"10","currency":"EUR","checkout":{"expirationMinutes":-1}}`},
			{"POST", list, `{"amount":"10","currency":"EUR","checkout":{"expirationMinutes":1}}`}, {"POST", list, `{"amount":"10","currency":"EUR","checkout":{"expirationMinutes":"0.5"}}`},
			{"POST", list, `{"amount":"10","currency":"EUR","checkout":{"paymentMethods":["BTC","btc_chain","BTC-OnChain",null]}}`},
			{"POST", list, `{"amount":"10","currency":"EUR","checkout":{"paymentMethods":[{}]}}`}, {"POST", list, `{"amount":"10","currency":"EUR","checkout":{"paymentMethods":"BTC"}}`},
			{"POST", list, `{"amount":"10","currency":"EUR","checkout":{"defaultLanguage":"\u0000"}}`}, {"POST", list, `{"amount":"10","currency":"EUR","checkout":{"redirectURL":"https://a.example/\u0000"}}`},
			{"POST", list, `{"amount":"10","currency":"EUR","checkout":{"redirectURL":"javascript:alert(1)"}}`}, {"POST", list, `{"amount":"10","currency":"EUR","checkout":{"redirectURL":"https://a.example/{InvoiceId}?o={OrderId}"},"metadata":{"orderId":"a b&c=d"}}`},
			{"POST", list, `{"amount":"10","currency":"EUR","checkout":{"redirectURL":"http://shop.local/thanks"}}`},
			{"POST", list, `{"amount":"10","currency":"EUR","checkout":{"redirectURL":"https://user@a.example/"}}`},
			{"PUT", "/invoices/" + id, `{"metadata":null}`}, {"PUT", "/invoices/" + id, `{}`}, {"PUT", "/invoices/" + id, `{"metadata":"\u0000"}`},
			{"POST", "/invoices/" + id + "/status", `{"status":null}`}, {"POST", "/invoices/" + id + "/status", `{"status":{"a":1}}`}, {"POST", "/invoices/" + id + "/refund", `{}`},
			{"POST", "/invoices/" + id + "/refund", `{"refundVariant":"Custom","customAmount":"1e99","paymentMethod":"BTC"}`},
			{"POST", "/invoices/" + id + "/refund", `{"refundVariant":"Custom","customAmount":"1","customCurrency":"BTC","paymentMethod":"BTC"}`},
			{"POST", f.store("/webhooks"), `{"url":null}`}, {"POST", f.store("/webhooks"), `{"url":"http://127.0.0.1/\u0000"}`}, {"POST", f.store("/webhooks"), `{"url":"http://127.0.0.1/","secret":"a\u0000b"}`},
			{"POST", f.store("/webhooks"), `{"url":"http://127.0.0.1/","authorizedEvents":{"specificEvents":[null]}}`}, {"POST", f.store("/webhooks"), `{"url":"http://127.0.0.1/","enabled":"yes"}`},
			{"POST", f.store("/webhooks"), `{"url":"http://127.0.0.1/","authorizedEvents":{"everything":"true"}}`}, {"POST", f.store("/webhooks"), `{"url":"http://127.0.0.1/","secret":"` + strings.Repeat("x", 5000) + `"}`},
			{"GET", "/webhooks/%00", ""}, {"GET", "/invoices/%2e%2e", ""}, {"GET", "/stores/%00", ""}, {"HEAD", "/stores", ""}, {"OPTIONS", "/stores", ""}, {"GET", "/nothing", ""}, {"POST", f.store("/pull-payments"), "{}"},
		} {
			a := f.send(c.method, c.path, f.token, c.body)
			if a.status >= http.StatusInternalServerError {
				t.Errorf("%s %s %.130s: %d %s", c.method, c.path, c.body, a.status, a.body)
			}
		}
	})
}
