package server_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"chequer/internal/api"
	"chequer/internal/chain"
	"chequer/internal/chain/simnet"
	"chequer/internal/httpapi"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
)

// mistake is a request that gets an error answer.
type mistake struct {
	name string
	send func(*fixture) *http.Response
}

// posted posts a body to invoice/new, with headers in pairs of name and value.
func posted(name, body string, headers ...string) mistake {
	return mistake{name, func(f *fixture) *http.Response {
		m := creation(message{key: "all", body: body, header: http.Header{"Content-Type": {"application/json"}}})
		for i := 0; i < len(headers); i += 2 {
			m.header.Set(headers[i], headers[i+1])
		}
		return f.send(m)
	}}
}

// changed posts a valid body to invoice/new, with a header that is changed after the signing.
func changed(name, header, value string) mistake {
	return mistake{name, func(f *fixture) *http.Response {
		r := f.request(creation(message{key: "all", signRequest: true}))
		r.Header.Set(header, value)
		return f.serve(r)
	}}
}

// storageFault posts a valid body to invoice/new while the storage returns an error.
func storageFault(name string, err error) mistake {
	return mistake{name, func(f *fixture) *http.Response {
		f.merchants.err = err
		return f.send(creation(message{key: "all"}))
	}}
}

// sent sends a message.
func sent(name string, m message) mistake {
	return mistake{name, func(f *fixture) *http.Response { return f.send(m) }}
}

// bodyWith returns a valid body with an additional member.
func bodyWith(member string) string { return `{"amount":1,"fiat_currency":"EUR",` + member + `}` }

var mistakes = []mistake{
	sent("no such path", message{method: "GET", target: "/api/v2/nothing"}),
	sent("no such method", message{method: "PUT", target: "/api/v2/invoice/new"}),
	sent("no such invoice", message{method: "GET", target: "/api/v2/invoice/status?id=nobody"}),
	posted("body too large", bodyWith(`"description":"`+strings.Repeat("x", 64<<10)+`"`)),
	{"body ends early", func(f *fixture) *http.Response {
		r := f.request(creation(message{key: "all"}))
		r.Body = failing{}
		return f.serve(r)
	}},
	{"too many calls of an address", func(f *fixture) *http.Response {
		f.limit(httpapi.Limits{PerAddress: 1})
		for range 2 {
			f.send(creation(message{}))
		}
		return f.send(creation(message{}))
	}},
	sent("no key", creation(message{})),
	sent("revoked key", creation(message{key: "revoked"})),
	changed("no signature", api.HeaderSignature, ""),
	changed("bad signature", api.HeaderSignature, "00"),
	changed("no timestamp", api.HeaderTimestamp, ""),
	sent("old timestamp", creation(message{key: "all", signRequest: true, skew: -time.Hour})),
	changed("no nonce", api.HeaderNonce, ""),
	sent("short nonce", creation(message{key: "all", signRequest: true, nonce: "short"})),
	{"used nonce", func(f *fixture) *http.Response {
		m := creation(message{key: "all", signRequest: true, nonce: orderNonce})
		f.send(m)
		return f.send(m)
	}},
	sent("no scope", creation(message{key: "read"})),
	{"too many calls of a key", func(f *fixture) *http.Response {
		f.limit(httpapi.Limits{PerKey: 1})
		for range 5 {
			f.send(creation(message{key: "all"}))
		}
		return f.send(creation(message{key: "all"}))
	}},
	posted("other media type", minimalBody, "Content-Type", "text/plain"),
	posted("no JSON", `{`),
	posted("no UTF-8", "{\"\xff\":1}"),
	posted("unknown field", bodyWith(`"price":2`)),
	posted("field in capitals", bodyWith(`"Amount":2`)),
	posted("name that is not quoted", bodyWith(`"expired_at":2`)),
	posted("name too long to be quoted", bodyWith(`"`+strings.Repeat("x", 65)+`":2`)),
	posted("field twice", bodyWith(`"amount":2`)),
	posted("amount missing", `{"fiat_currency":"EUR"}`),
	posted("amount zero", `{"amount":0,"fiat_currency":"EUR"}`),
	posted("amount too precise", `{"amount":5.0E-4,"fiat_currency":"EUR"}`),
	posted("amount too large", `{"amount":1.23456785E7,"fiat_currency":"EUR"}`),
	posted("amount too long", `{"amount":`+strings.Repeat("1", 41)+`,"fiat_currency":"EUR"}`),
	posted("amount with a large exponent", `{"amount":1e19,"fiat_currency":"EUR"}`),
	posted("amount with a comma", `{"amount":"1,50","fiat_currency":"EUR"}`),
	posted("amount too small", `{"amount":0.01,"fiat_currency":"EUR","payment_methods":["BTC"]}`),
	posted("unknown currency", `{"amount":1,"fiat_currency":"eur"}`),
	{"currency that is not switched on", func(f *fixture) *http.Response {
		f.enableFiats(chf, jpy)
		return f.send(creation(message{key: "all", body: `{"amount":1,"fiat_currency":"GBP"}`}))
	}},
	{"no decimals in yen", func(f *fixture) *http.Response {
		f.enableFiats(jpy)
		return f.send(creation(message{key: "all", body: `{"amount":1.5,"fiat_currency":"JPY"}`}))
	}},
	{"too many yen", func(f *fixture) *http.Response {
		f.enableFiats(jpy)
		return f.send(creation(message{key: "all", body: `{"amount":1000001,"fiat_currency":"JPY"}`}))
	}},
	{"too few yen", func(f *fixture) *http.Response {
		f.enableFiats(jpy)
		return f.send(creation(message{key: "all", body: `{"amount":1,"fiat_currency":"JPY","payment_methods":["BTC"]}`}))
	}},
	posted("bad url_success", bodyWith(`"url_success":"javascript:alert(1)"`)),
	posted("bad url_failure", bodyWith(`"url_failure":"//evil.example"`)),
	posted("bad allow_paid_expired", bodyWith(`"allow_paid_expired":1`)),
	posted("bad disable_convert", bodyWith(`"disable_convert":"no"`)),
	posted("bad order_id", bodyWith(`"order_id":7`)),
	posted("bad description", bodyWith(`"description":"\u0000"`)),
	posted("bad metadata", bodyWith(`"metadata":{"a":1}`)),
	posted("bad language", bodyWith(`"language":"?"`)),
	posted("bad expires_in", bodyWith(`"expires_in":59`)),
	posted("expires_in longer than any quote", bodyWith(`"expires_in":3601,"payment_methods":["BTC"]`)),
	posted("bad payment_methods", bodyWith(`"payment_methods":[]`)),
	posted("only unknown payment methods", bodyWith(`"payment_methods":["DOGE"]`)),
	posted("bad idempotency key", minimalBody, api.HeaderIdempotencyKey, "ü"),
	{"idempotency key with another body", func(f *fixture) *http.Response {
		f.send(keyedMessage("k", minimalBody))
		return f.send(keyedMessage("k", bodyWith(`"order_id":"7"`)))
	}},
	{"idempotency key still running", func(f *fixture) *http.Response {
		f.merchants.walletsBlocked, f.merchants.entered = make(chan struct{}), make(chan struct{}, 1)
		first := make(chan *http.Response)
		go func() { first <- f.send(keyedMessage("k", minimalBody)) }()
		<-f.merchants.entered
		second := f.send(keyedMessage("k", minimalBody))
		close(f.merchants.walletsBlocked)
		<-first
		return second
	}},
	{"no rate", func(f *fixture) *http.Response {
		f.rates.unavailable.Store(true)
		return f.send(creation(message{key: "all"}))
	}},
	{"no rate in francs", func(f *fixture) *http.Response {
		f.enableFiats(chf)
		f.rates.lacks = "CHF"
		return f.send(creation(message{key: "all", body: `{"amount":1,"fiat_currency":"CHF"}`}))
	}},
	{"no wallet", func(f *fixture) *http.Response {
		f.merchants.wallets = nil
		return f.send(creation(message{key: "all"}))
	}},
	storageFault("no network", fmt.Errorf("create: %w", invoice.ErrUnwatched)),
	storageFault("no network reached", fmt.Errorf("create: %w", invoice.ErrUnreached)),
	storageFault("storage is busy", fmt.Errorf("find key: %w", invoice.ErrUnavailable)),
	storageFault("caller is gone", fmt.Errorf("find key: %w", context.Canceled)),
	storageFault("invoice is in another state", fmt.Errorf("cancel: %w", invoice.ErrState)),
	storageFault("more is due than a method allows", fmt.Errorf("requote: %w", invoice.ErrTooMuch)),
	storageFault("the Lightning wallet refuses the amount", fmt.Errorf("%w: %w", invoice.ErrNoRequest, &chain.LimitError{
		Least: money.MustParse("0.00001", money.BTC), Most: money.MustParse("0.01", money.BTC),
	})),
	storageFault("an internal error", errors.New("expired_at")),
	{"a live invoice is simulated", func(f *fixture) *http.Response { return f.simulate("live", "exact") }},
	{"nothing to simulate", func(f *fixture) *http.Response { return f.simulate("all", "confirm") }},
	{"an unpayable request is simulated", func(f *fixture) *http.Response {
		f.simnet.payError = simnet.ErrUnpayable
		return f.simulate("all", "exact")
	}},
	{"a clock without a span", func(f *fixture) *http.Response { return f.simulate("all", "clock") }},
	{"a clock moved too far", func(f *fixture) (last *http.Response) {
		for range 13 {
			last = f.simulate("all", `clock","seconds":2592000,"payment_method":"BTC`)
		}
		return last
	}},
	{"unknown simulation", func(f *fixture) *http.Response { return f.simulate("all", "steal") }},
	endpoint("endpoint in a private network", "", `{"url":"https://127.0.0.1"}`),
	endpoint("endpoint for unknown events", "", `{"url":"https://shop.example","events":["invoice.payed"]}`),
	endpoint("unknown endpoint", "/end_x/pause", ""),
	endpoint("one endpoint too many", "", `{"url":"https://shop.example"}`),
	endpoint("rotation finished before it began", "/end_0000000000000001/rotate", `{"finish":true}`),
	endpoint("rotation with finish that is not a boolean", "/end_0000000000000001/rotate", `{"finish":1}`),
	endpoint("unknown event sent again", "/end_0000000000000001/resend", `{"event_id":"evt_x"}`),
	endpoint("nothing to send again", "/end_0000000000000001/resend", ""),
	endpoint("sent again from an invalid position", "/end_0000000000000001/resend", `{"after":-1}`),
	{"deliveries in an unknown state", func(f *fixture) *http.Response {
		f.useStorage()
		f.send(message{method: "POST", target: "/api/v2/endpoints", key: "all", signRequest: true, body: `{"url":"https://shop.example"}`})
		return f.send(message{method: "GET", target: "/api/v2/endpoints/end_0000000000000001/deliveries?state=lost", key: "all", signRequest: true})
	}},
	{"feed from an invalid position", func(f *fixture) *http.Response {
		return f.send(message{method: "GET", target: "/api/v2/events?after=x", key: "all", signRequest: true})
	}},
	aboutTheme("theme that does not exist", message{method: "GET", target: "/api/v2/looks/0123456789abcdef01234567", key: "page", signRequest: true}),
	aboutTheme("theme set by a test key beside a live wallet", themeCall("PUT", "admin", `{"name":"Nord"}`)),
	aboutTheme("name of two lines", themeCall("PUT", "live", `{"name":"Atelier\nNord"}`)),
	aboutTheme("colour that is not valid", themeCall("PUT", "live", `{"accent":"red"}`)),
	aboutTheme("line that is too long", themeCall("PUT", "live", `{"line":"`+strings.Repeat("x", 141)+`"}`)),
	aboutTheme("support that is not an address", themeCall("PUT", "live", `{"support":"javascript:alert(1)"}`)),
	aboutTheme("terms over http", themeCall("PUT", "live", `{"terms":"http://shop.example"}`)),
	aboutTheme("auto_return that is not a boolean", themeCall("PUT", "live", `{"auto_return":"on"}`)),
	aboutTheme("logo that is no picture", themeCall("PUT", "live", `{"logo":"aGVsbG8="}`)),
	aboutTheme("logo with a script", themeCall("PUT", "live", `{"logo":"`+base64.StdEncoding.EncodeToString([]byte(`<svg viewBox="0 0 8 8"><script/></svg>`))+`"}`)),
	aboutLink("slug that is not valid", `{"slug":"Free Coffee","fiat_currency":"EUR"}`),
	aboutLink("slug that is in use", `{"slug":"coffee","fiat_currency":"EUR"}`),
	aboutLink("link in another currency", `{"fiat_currency":"DOGE"}`),
	aboutLink("link with an amount of zero", `{"fiat_currency":"EUR","amount":0}`),
	{"unknown link", func(f *fixture) *http.Response {
		f.useStorage()
		return f.send(message{method: "DELETE", target: "/api/v2/links/coffee", key: "all", signRequest: true})
	}},
	aboutProduct("product that exists already", "POST", "", `{"slug":"coffee","name":"Coffee","price":1,"fiat_currency":"EUR"}`),
	aboutProduct("product without a name", "POST", "", `{"slug":"tea","name":" ","price":1,"fiat_currency":"EUR"}`),
	aboutProduct("product with a name that reverses text", "PATCH", "/coffee", `{"name":"\u202eeeffoC"}`),
	aboutProduct("product with a price of zero", "PATCH", "/coffee", `{"price":"0.00"}`),
	aboutProduct("product with a price of a part of a cent", "PATCH", "/coffee", `{"price":"0.005"}`),
	aboutProduct("product in another currency", "PATCH", "/coffee", `{"fiat_currency":"DOGE"}`),
	aboutProduct("product with a VAT rate above 50 percent", "PATCH", "/coffee", `{"vat_rate":"50.01"}`),
	aboutProduct("product with a negative VAT rate", "PATCH", "/coffee", `{"vat_rate":-1}`),
	aboutProduct("product with a VAT rate of three decimals", "PATCH", "/coffee", `{"vat_rate":7.705}`),
	aboutProduct("product with a VAT rate that is not a number", "PATCH", "/coffee", `{"vat_rate":"19 %"}`),
	aboutProduct("product with a VAT rate that is a boolean", "PATCH", "/coffee", `{"vat_rate":true}`),
	aboutProduct("product with a negative max_quantity", "PATCH", "/coffee", `{"max_quantity":-1}`),
	aboutProduct("product with an unknown ask_order_id", "PATCH", "/coffee", `{"ask_order_id":"perhaps"}`),
	aboutProduct("product with an ask_note that is not a text", "PATCH", "/coffee", `{"ask_note":true}`),
	aboutProduct("product with active that is not a boolean", "PATCH", "/coffee", `{"active":"half"}`),
	aboutProduct("unknown product", "DELETE", "/tea", ""),
	{"one product too many", func(f *fixture) *http.Response {
		s := f.useStorage()
		for i := range merchant.MaxProducts {
			p := merchant.Product{Slug: fmt.Sprint("p", i), MerchantID: "shop", Mode: merchant.Test, Price: money.FromCents(1, money.EUR)}
			if err := s.CreateProduct(f.t.Context(), p); err != nil {
				f.t.Fatal(err)
			}
		}
		return f.send(productCall("all", "POST", "", `{"slug":"tea","name":"Tea","price":1,"fiat_currency":"EUR"}`))
	}},
	aboutProduct("order of an unknown product", "POST", "/order", `{"slug":"tea","quantity":1,"amount":"1","fiat_currency":"EUR"}`),
	aboutProduct("order with a quantity of zero", "POST", "/order", `{"slug":"coffee","quantity":0,"amount":"3.50","fiat_currency":"EUR"}`),
	aboutProduct("order above the maximum quantity", "POST", "/order", `{"slug":"coffee","quantity":21,"amount":"73.50","fiat_currency":"EUR"}`),
	aboutProduct("order with a note that is not accepted", "POST", "/order", `{"slug":"coffee","quantity":1,"amount":"3.50","fiat_currency":"EUR","note":"Hello"}`),
	aboutProduct("order at another price", "POST", "/order", `{"slug":"coffee","quantity":2,"amount":"3.50","fiat_currency":"EUR"}`),
	{"order when many are unpaid", func(f *fixture) *http.Response {
		f.useStorage()
		f.config.MaxUnpaid = 1
		f.restart()
		f.send(productCall("all", "POST", "", coffee))
		f.sendOrder("first", `{"slug":"coffee","quantity":1,"amount":"3.5","fiat_currency":"EUR"}`)
		return f.sendOrder("token", `{"slug":"coffee","quantity":1,"amount":"3.5","fiat_currency":"EUR"}`)
	}},
	sent("link of an unknown terminal", message{method: "POST", target: "/api/v2/links/read", key: "page", signRequest: true, body: `{"terminal":"x"}`}),
	sent("link of a terminal that is not a text", message{method: "POST", target: "/api/v2/links/read", key: "page", signRequest: true, body: `{"terminal":1}`}),
	aboutLink("link with an invalid end", `{"fiat_currency":"EUR","ends_at":"tomorrow"}`),
	aboutLink("link with a fraction as max_uses", `{"fiat_currency":"EUR","max_uses":0.5}`),
	sent("page that showed an invalid amount", message{method: "POST", target: "/api/v2/links/pay", key: "page", signRequest: true, body: `{"slug":"x","shown_amount":"much"}`}),
	sent("page that showed an invalid currency", message{method: "POST", target: "/api/v2/links/pay", key: "page", signRequest: true, body: `{"slug":"x","shown_currency":1}`}),
	sent("link without slug, query and terminal", message{method: "POST", target: "/api/v2/links/read", key: "page", signRequest: true, body: `{}`}),
	sent("signed link with an invalid query", aboutSigned("read", linkQuery("all")+"&order_id=%zz")),
	sent("signed link with an additional parameter", aboutSigned("read", linkQuery("all")+"&AMOUNT=1")),
	sent("signed link with a parameter twice", aboutSigned("read", linkQuery("all")+"&amount=1")),
	sent("signed link without its signature", aboutSigned("read", "amount=1&fiat_currency=EUR&key="+publicKey("all"))),
	sent("signed link that was changed", aboutSigned("read", strings.Replace(linkQuery("all"), "56.50", "6.50", 1))),
	sent("signed link of a key without the scope", aboutSigned("read", linkQuery("create"))),
	sent("signed link that has expired", aboutSigned("read", linkQuery("all", "expires", "1764244832"))),
	sent("signed link with a bad expires", aboutSigned("read", linkQuery("all", "expires", "tomorrow"))),
	sent("signed link without a token", aboutSigned("pay", linkQuery("all"))),
	aboutPaid("requote of quote zero", "requote", `{"quote":0}`),
	aboutPaid("requote of a covered invoice", "requote", `{}`),
	{"requote without rates", func(f *fixture) *http.Response {
		f.send(creation(message{key: "all"}))
		f.rates.unavailable.Store(true)
		return f.send(invoiceAction("requote", "page", `{}`))
	}},
	{"requote of a cent", func(f *fixture) *http.Response {
		f.send(creation(message{key: "all", body: `{"amount":100,"fiat_currency":"EUR","payment_methods":["BTC"]}`}))
		script := "xpub-script-0"
		if _, err := f.simnet.Pay(context.Background(), bitcoin("simnet"), script, money.MustParse("0.0011571", money.BTC)); err != nil {
			panic(err)
		}
		return f.send(invoiceAction("requote", "page", `{}`))
	}},
	aboutPaid("refund with a currency that is not a text", "refund-address", `{"currency":7,"address":"tb1q"}`),
	aboutPaid("refund in a currency that was not received", "refund-address", `{"currency":"ETH","address":"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"}`),
	aboutPaid("refund to no address", "refund-address", `{"currency":"BTC","address":"tb1q"}`),
	aboutPaid("refund to a mistyped address", "refund-address", `{"currency":"BTC","address":"mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfm"}`),
	aboutPaid("refund to another network", "refund-address", `{"currency":"BTC","address":"bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"}`),
	aboutPaid("refund to the address of an invoice", "refund-address", `{"currency":"BTC","address":"xpub-address-0"}`),
	aboutPaid("refund to a private key", "refund-address", `{"currency":"BTC","address":"L1aW4aubDFB7yfras2S1mN3bqg9nwySY8nkoLmJebSLD5BWv3ENZ"}`),
	aboutConfirmed("refund of another version", "refunds", `{"kind":"received","currency":"BTC","version":1}`),
	aboutConfirmed("refund that does not exist", "refunds/ref_0/cancel", `{}`),
	aboutConfirmed("refund of a surplus that does not exist", "refunds", `{"kind":"surplus","currency":"BTC"}`),
	aboutConfirmed("refund of more than what was received", "refunds", `{"kind":"part","currency":"BTC","amount":1}`),
	aboutConfirmed("refund for the second time", "refunds", partRefund, "refunds", partRefund),
	aboutConfirmed("refund of less than the network transfers", "refunds", `{"kind":"part","currency":"BTC","amount":"0.00000001"}`),
	aboutConfirmed("refund of a kind that does not exist", "refunds", `{"kind":"all","currency":"BTC"}`),
	aboutConfirmed("refund of too many decimals of the currency", "refunds", `{"kind":"part","currency":"BTC","fiat_amount":"0.001"}`),
	aboutConfirmed("refund by no transaction", "refunds", partRefund, "refund-address", `{"currency":"BTC","address":"TB1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KXPJZSX"}`, "refunds/REF/sent", `{"tx":"8f"}`),
	{"refund to another address", func(f *fixture) *http.Response {
		f.send(creation(message{key: "all"}))
		f.send(message{method: "POST", target: testTarget + "/simulate", key: "page", signRequest: true, body: `{"action":"exact"}`})
		f.send(invoiceAction("refund-address", "page", `{"currency":"BTC","address":"tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx"}`))
		return f.send(invoiceAction("refund-address", "page", `{"currency":"BTC","address":"mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn"}`))
	}},
	{"refund of nothing", func(f *fixture) *http.Response {
		f.send(creation(message{key: "all"}))
		return f.send(invoiceAction("refund-address", "page", `{"currency":"BTC","address":"tb1q"}`))
	}},
	aboutPaid("cancel after a payment", "cancel", `{}`),
	{"accept nothing", func(f *fixture) *http.Response {
		f.send(creation(message{key: "all"}))
		return f.send(invoiceAction("accept", "admin", `{}`))
	}},
	listed("misspelt filter", "?stauts=paid"),
	listed("filter that is named like an answer's field", "?expired_at=1"),
	listed("filter twice", "?limit=1&limit=2"),
	listed("filter that is not valid UTF-8", "?order_id=%ff"),
	listed("query that is not valid", "?a=%zz"),
	listed("bad status", "?status=settled"),
	listed("bad from", "?from=yesterday"),
	listed("bad to", "?to=2026-13-01"),
	listed("bad cursor", "?cursor=MTc5NTc4MDgwMA"),
	listed("bad limit", "?limit=101"),
	listed("bad order_id of the list", "?order_id="),
	listed("bad address of the list", "?address="),
	{"export of days that were removed from the books", func(f *fixture) *http.Response {
		f.config.RemovedBefore = func(context.Context, string) (before, at time.Time, err error) {
			return time.Date(2017, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2027, 1, 2, 0, 0, 0, 0, time.UTC), nil
		}
		f.restart()
		return f.serve(f.request(message{method: "GET", target: "/api/v2/invoices/export?format=csv&from=2016-12-31T23:59:59Z", key: "read", signRequest: true}))
	}},
	listed("export without a format", "/export"),
	sent("compressed body", creation(message{key: "all", header: http.Header{"Content-Encoding": {"gzip"}}})),
	listed("export in another format", "/export?format=xls"),
	listed("export with another delimiter", "/export?format=csv&delimiter=pipe"),
	listed("export with another decimal mark", "/export?format=csv&decimal=dot"),
	listed("export with an unknown bom", "/export?format=csv&bom=perhaps"),
	listed("export in the server's own time zone", "/export?format=csv&timezone=Local"),
	listed("JSON export with a decimal mark", "/export?format=json&decimal=comma"),
	{"unknown method simulated", func(f *fixture) *http.Response { return f.simulate("all", `exact","payment_method":"DOGE`) }},
}

const (
	invoiceTarget = "/api/v2/invoices/inv00000000000000000000000000001"
	testTarget    = "/api/v2/test/invoices/inv00000000000000000000000000001"
)

// invoiceAction posts an action on the first invoice.
func invoiceAction(action, key, body string) message {
	return message{method: "POST", target: invoiceTarget + "/" + action, key: key, signRequest: true, body: body}
}

// aboutPaid posts an action on an invoice that is fully paid but not confirmed.
func aboutPaid(name, action, body string) mistake {
	return mistake{name, func(f *fixture) *http.Response {
		f.send(creation(message{key: "all"}))
		f.send(message{method: "POST", target: testTarget + "/simulate", key: "page", signRequest: true, body: `{"action":"exact"}`})
		return f.send(invoiceAction(action, "all", body))
	}}
}

// partRefund is the body of a refund of a part.
const partRefund = `{"kind":"part","currency":"BTC","amount":"0.000006"}`

// aboutConfirmed posts actions, each with its body, on an invoice that is paid. REF in an action is replaced by
// the identifier of the first refund.
func aboutConfirmed(name string, actions ...string) mistake {
	return mistake{name, func(f *fixture) (last *http.Response) {
		f.send(creation(message{key: "all"}))
		for _, action := range []string{"exact", "confirm"} {
			f.send(message{method: "POST", target: testTarget + "/simulate", key: "page", signRequest: true, body: `{"action":"` + action + `"}`})
		}
		ref := ""
		for i := 0; i < len(actions); i += 2 {
			last = f.send(invoiceAction(strings.Replace(actions[i], "REF", ref, 1), "all", actions[i+1]))
			if last.StatusCode == http.StatusOK && i+2 < len(actions) {
				body, err := io.ReadAll(last.Body)
				if err != nil {
					panic(err)
				}
				var inv api.Resource
				if err := json.Unmarshal(body, &inv); err != nil {
					panic(err)
				}
				ref = inv.Refunds[0].ID
			}
		}
		return last
	}}
}

// listed requests a list of invoices.
func listed(name, query string) mistake {
	return sent(name, message{method: "GET", target: "/api/v2/invoices" + query, key: "read", signRequest: true})
}

// aboutTheme sends a call about a theme.
func aboutTheme(name string, m message) mistake {
	return mistake{name, func(f *fixture) *http.Response {
		f.useStorage()
		return f.send(m)
	}}
}

// aboutLink creates a link when the link "coffee" exists.
func aboutLink(name, body string) mistake {
	return mistake{name, func(f *fixture) *http.Response {
		f.useStorage()
		m := message{method: "POST", target: "/api/v2/links", key: "all", signRequest: true, body: `{"slug":"coffee","amount":"3.50","fiat_currency":"EUR"}`}
		f.send(m)
		m.body = body
		return f.send(m)
	}}
}

// aboutProduct calls products when the product "coffee" exists.
func aboutProduct(name, method, path, body string) mistake {
	return mistake{name, func(f *fixture) *http.Response {
		f.useStorage()
		m := message{method: "POST", target: "/api/v2/products", key: "all", signRequest: true, body: coffee}
		f.send(m)
		m.method, m.target, m.body, m.header = method, m.target+path, body, http.Header{api.HeaderIdempotencyKey: {"token"}}
		return f.send(m)
	}}
}

// endpoint posts to the endpoints of a merchant with the maximum number of endpoints, or to one of
// them.
func endpoint(name, path, body string) mistake {
	return mistake{name, func(f *fixture) *http.Response {
		f.useStorage()
		m := message{method: "POST", target: "/api/v2/endpoints", key: "all", signRequest: true, body: `{"url":"https://shop.example"}`}
		for range merchant.MaxEndpoints {
			f.send(m)
		}
		m.target, m.body = m.target+path, body
		return f.send(m)
	}}
}
