package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"chequer/internal/api"
	"chequer/web"
)

// states lists the states of an invoice that the page distinguishes, with the expected texts.
var states = []struct {
	name    string
	change  func(*api.Resource)
	title   string
	heading string
	head    string // label of the amount
	amount  string
	codes   int    // number of QR codes; 0 if the shopper should send nothing more
	say     string // part of the announcement to screen readers
	words   string // text that is somewhere on the page
}{
	{
		"waiting", func(*api.Resource) {},
		"Pay Atelier Nord", "Waiting for your payment", "Amount due", "€56.50", 3, "", "fifty-six euros and fifty cents",
	},
	{
		"quote expired, undecided", func(r *api.Resource) { r.SecondsLeft = -5 },
		"Price run out – Atelier Nord", "The held price has run out", "Amount due", "€56.50", 0, "still looking", "Do not send it again",
	},
	{
		"delayed", func(r *api.Resource) { r.SecondsLeft, r.Exceptions = -5, []string{api.ExceptionDelayed} },
		"Price run out – Atelier Nord", "The held price has run out", "Amount due", "€56.50", 0, "still looking", "This takes longer than usual",
	},
	{
		"partly paid", func(r *api.Resource) {
			part := transfer("confirmed")
			part.Amount, part.FiatAmount = "0.0005", "43.21"
			r.Status, r.DueAmount, r.PaidAmount, r.Payments = api.StatusPending, "13.29", "43.21", []api.Payment{part}
			r.Exceptions = []string{api.ExceptionUnderpaid}
			r.PaymentMethods[0].DueAmount = "0.00015379"
		},
		"€13.29 still due – Atelier Nord", "Part of it arrived", "Still due", "€13.29", 3, "€13.29 still due. The QR code now shows the rest", "0.00015379 BTC",
	},
	{
		"partly paid, quote expired", func(r *api.Resource) {
			r.Status, r.DueAmount, r.PaidAmount, r.SecondsLeft = api.StatusPending, "13.29", "43.21", 0
		},
		"€13.29 still due – Atelier Nord", "Part of it arrived", "Still due", "€13.29", 0, "has run out", "Do not send the rest now",
	},
	{
		"seen", func(r *api.Resource) {
			r.Status, r.DueAmount, r.Payments = api.StatusPending, "0", []api.Payment{transfer("seen")}
		},
		"Payment seen – Atelier Nord", "Payment seen", "Received", "€56.50", 0, "1 of 2 confirmations. You can close this page.", "1 of 2",
	},
	{
		"paid", func(r *api.Resource) {
			r.Status, r.DueAmount, r.PaidAmount, r.PaidAt = api.StatusPaid, "0", "56.5", "2026-11-27T12:52:00.000Z"
			r.PaidTx, r.Payments = transfer("").Tx, []api.Payment{transfer("confirmed")}
		},
		"Paid – Atelier Nord", "Paid. Thank you.", "Paid", "€56.50", 0, "Paid. Your order 1042 is confirmed.", "27 Nov 2026, 12:52 UTC",
	},
	{
		"overpaid", func(r *api.Resource) {
			r.Status, r.DueAmount, r.OverpaidAmount, r.Exceptions = api.StatusPaid, "0", "6.91", []string{api.ExceptionOverpaid}
		},
		"Paid, with €6.91 extra – Atelier Nord", "Paid. You sent a little extra.", "Paid", "€63.41", 0, "€6.91 more than needed", "belongs to you",
	},
	{
		"overpaid by less than a cent", func(r *api.Resource) {
			r.Status, r.DueAmount, r.Exceptions = api.StatusPaid, "0", []string{api.ExceptionOverpaid}
			r.PaidTx, r.Payments = transfer("").Tx, []api.Payment{transfer("confirmed")}
		},
		"Paid – Atelier Nord", "Paid. Thank you.", "Paid", "€56.50", 0, "Paid. Your order 1042 is confirmed.", "",
	},
	{
		"expired", func(r *api.Resource) { r.Status, r.SecondsLeft = api.StatusExpired, -900 },
		"Price expired – Atelier Nord", "The held price has run out", "Amount due", "€56.50", 0, "No payment was seen", "27 Dec 2026, 12:14 UTC",
	},
	{
		"expired with a part", func(r *api.Resource) {
			r.Status, r.SecondsLeft, r.PaidAmount, r.DueAmount = api.StatusExpired, -900, "43.21", "13.29"
		},
		"Price expired – Atelier Nord", "Only part of it arrived in time", "Amount due", "€56.50", 0, "Only €43.21", "€13.29 is missing",
	},
	{
		"late", func(r *api.Resource) {
			short := transfer("late")
			short.FiatAmount = "55.9"
			r.Status, r.SecondsLeft, r.Exceptions, r.Payments = api.StatusExpired, -900, []string{api.ExceptionLate}, []api.Payment{short}
		},
		"Payment arrived late – Atelier Nord", "Your payment arrived late", "Received late", "€55.90", 0, "after the price expired", "It came in 21 minutes after",
	},
	{
		"declined", func(r *api.Resource) { r.Status = api.StatusDeclined },
		"Cancelled – Atelier Nord", "This payment was cancelled", "Cancelled", "€56.50", 0, "Do not send anything", "cancelled",
	},
	{
		"replaced", func(r *api.Resource) { r.Exceptions = []string{api.ExceptionReplaced} },
		"Payment dropped – Atelier Nord", "Waiting for your payment", "Amount due", "€56.50", 3, "Nothing was taken", "Nothing was taken",
	},
	{
		"reorganised", func(r *api.Resource) {
			r.Status, r.DueAmount, r.Exceptions, r.Payments = api.StatusPending, "0", []string{api.ExceptionReorged}, []api.Payment{transfer("seen")}
		},
		"Confirmation taken back – Atelier Nord", "Payment seen", "Received", "€56.50", 0, "We keep watching", "The network took a confirmation back",
	},
	{
		"wrong asset", func(r *api.Resource) {
			r.Exceptions = []string{api.ExceptionWrongAsset}
			r.Payments = []api.Payment{wrongAsset("USDC-BASE", "USDC", "Base", "3"), wrongAsset("ETH", "ETH", "Ethereum", "0.1"), wrongAsset("USDC-BASE", "USDC", "Base", "0.5")}
		},
		"Another currency arrived – Atelier Nord", "Waiting for your payment", "Amount due", "€56.50", 3,
		"3.5 USDC on Base + 0.1 ETH on Ethereum arrived, which is not asked for here. Do not send it again.",
		"3.5 USDC on Base + 0.1 ETH on Ethereum arrived, which is not asked for here. Do not send it again. " +
			"It does not count by itself: Atelier Nord decides whether it does or goes back to you. Ask there and give the reference abc.",
	},
	{
		"payment from before the invoice", func(r *api.Resource) {
			old := transfer("old")
			old.FiatAmount = "0"
			r.Exceptions, r.Payments = []string{api.ExceptionOld}, []api.Payment{old}
		},
		"Pay Atelier Nord", "Waiting for your payment", "Amount due", "€56.50", 3, "",
		"arrived before this invoice was made. It does not count by itself: Atelier Nord decides whether it does or goes back to you. Ask there and give the reference abc.",
	},
	{
		"wrong asset without payment details", func(r *api.Resource) { r.Exceptions = []string{api.ExceptionWrongAsset} },
		"Another currency arrived – Atelier Nord", "Waiting for your payment", "Amount due", "€56.50", 3, "Do not send it again", "Another currency arrived, which",
	},
}

// TestTestMoneyIsMarkedInEveryState checks that the page of a test invoice has the mark and the test
// tools in every state, and the page of a live invoice never does.
func TestTestMoneyIsMarkedInEveryState(t *testing.T) {
	t.Parallel()
	for _, tt := range states {
		for mode, want := range map[string]int{"test": 1, "live": 0} {
			doc := page(t, func(r *api.Resource) {
				tt.change(r)
				r.Mode = mode
			})
			for _, selector := range []string{`aside.test:contains("no real money")`, "#simulate #sim-exact", "#simulate #sim-hour"} {
				if got := doc.Find(selector).Length(); got != want {
					t.Errorf("%s, %s: %d of %s, want %d", tt.name, mode, got, selector, want)
				}
			}
		}
	}
}

// wrongAsset returns a payment in an asset that the invoice does not offer.
func wrongAsset(code, symbol, network, amount string) api.Payment {
	return api.Payment{
		ID: code, CryptoCurrency: code, Symbol: symbol, NetworkName: network, Amount: amount, FiatAmount: "0",
		State: "wrong_asset", Tx: "0x1", FirstSeenAt: "2026-11-27T12:05:40.000Z",
	}
}

func TestPaymentStates(t *testing.T) {
	t.Parallel()
	for _, tt := range states {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := invoice("abc")
			tt.change(&r)
			response := get(t, pages(t, newService(r), nil), "/invoice/abc")
			doc := document(t, response)
			live := doc.Find("#live")
			for _, check := range []struct{ what, got, want string }{
				{"title", doc.Find("head title").Text(), tt.title},
				{"title of the fragment", live.AttrOr("data-title", ""), tt.title},
				{"heading", doc.Find("h2#st").Text(), tt.heading},
				{"label of the amount", doc.Find(".due .k").Text(), tt.head},
				{"amount", doc.Find(".due .v").Text(), tt.amount},
			} {
				if check.got != check.want {
					t.Errorf("%s = %q, want %q", check.what, check.got, check.want)
				}
			}
			if got := doc.Find(".qr svg").Length(); got != tt.codes {
				t.Errorf("%d QR codes, want %d", got, tt.codes)
			}
			if got := live.AttrOr("data-say", ""); !strings.Contains(got, tt.say) || (tt.say == "") != (got == "") {
				t.Errorf("announced %q, want %q in it", got, tt.say)
			}
			if got := strings.Join(strings.Fields(doc.Find("body").Text()), " "); !strings.Contains(got, tt.words) {
				t.Errorf("%q is not on the page: %s", tt.words, got)
			}
			if got := doc.Find("h1").Length(); got != 1 {
				t.Errorf("%d h1 elements, want 1", got)
			}
			if got := doc.Find("style, [style], script:not([src])").Length(); got != 0 {
				t.Errorf("%d inline styles or scripts", got)
			}
		})
	}
}

func TestPaymentPage(t *testing.T) {
	t.Parallel()
	test := func(r *api.Resource) { r.Mode, r.RateSource = "test", "demo" }
	paid := states[6].change
	for _, tt := range []struct {
		name     string
		target   string
		change   func(*api.Resource)
		selector string
		want     int
	}{
		{"the first method is open", "/invoice/abc", nil, "#m1[checked]", 1},
		{"m opens a method", "/invoice/abc?m=EURC-BASE", nil, "#m2[checked]", 1},
		{"an unknown method opens the first", "/invoice/abc?m=%3Cb%3E", nil, "#m1[checked]", 1},
		{"a wallet opens coins", "/invoice/abc", nil, `a#m1-open[href^="bitcoin:bc1q"]`, 1},
		{"no wallet link at once for tokens", "/invoice/abc", nil, "a#m2-open", 0},
		{"tokens have the amount one tap away", "/invoice/abc", nil, `details#m2-more svg`, 1},
		{"the network of a token is named", "/invoice/abc", nil, `.m2 .note.warn:contains("Network: Base only.")`, 1},
		{"an unwatched method has a note", "/invoice/abc", nil, `.m2 .note:contains("Checked by hand.")`, 1},
		{"a watched method has no note", "/invoice/abc", nil, `.m1 .note:contains("Checked by hand.")`, 0},
		{"a method whose network is behind has a note", "/invoice/abc", func(r *api.Resource) { r.PaymentMethods[0].Behind = true }, `.m1 .note:contains("longer than usual")`, 1},
		{"a method whose network is not behind has no note", "/invoice/abc", nil, `.note:contains("longer than usual")`, 0},
		{"live money has no test tools", "/invoice/abc", nil, "form, .test", 0},
		{"test money is marked", "/invoice/abc", test, `.test:contains("no real money")`, 1},
		{"a simulation that can work has its button", "/invoice/abc", test, "#simulate button[name=action]", 6},
		{"demo rates are marked", "/invoice/abc", test, `.test:contains("demo rates")`, 1},
		{"paid leads back to the shop", "/invoice/abc", paid, `a#return[href="https://shop.example/thanks?order=1042&invoice=abc"]`, 1},
		{"paid is final", "/invoice/abc", paid, `#live[data-final]`, 1},
		{"paid goes back by itself", "/invoice/abc", paid, `#auto[hidden] #stay`, 1},
		{"waiting is not final", "/invoice/abc", nil, `#live[data-final]`, 0},
		{"declined is final", "/invoice/abc", func(r *api.Resource) { r.Status = api.StatusDeclined }, `#live[data-final]`, 1},
		{"expired leads to a new try", "/invoice/abc", func(r *api.Resource) { r.Status = api.StatusExpired }, `a#again[href="https://shop.example/basket?invoice=abc"]`, 1},
		{"expired without an address of the shop leads to the storefront", "/invoice/abc", func(r *api.Resource) { r.Status, r.URLFailure = api.StatusExpired, "" }, `a#again[href="/"]`, 1},
		{"an address that is not http or https is ignored", "/invoice/abc", func(r *api.Resource) { paid(r); r.URLSuccess = "javascript:alert(1)" }, `a#return[href^="javascript"], #auto`, 0},
		// C70
		{"an address in the query is ignored", "/invoice/abc?url_success=https://evil.example/&url_failure=https://evil.example/", paid, `a#return[href="https://shop.example/thanks?order=1042&invoice=abc"]`, 1},
		{"no link leads to an address in the query", "/invoice/abc?url_success=https://evil.example/", paid, `[href^="https://evil"], [action^="https://evil"]`, 0},
		{"a dropped payment is announced once", "/invoice/abc", func(r *api.Resource) { r.Exceptions = []string{api.ExceptionReplaced} }, `[role=alert]`, 0},
		{"the rest is never below the network's smallest amount", "/invoice/abc", func(r *api.Resource) {
			r.Status, r.DueAmount = api.StatusPending, "0.1"
			r.PaymentMethods[0].DueAmount, r.PaymentMethods[0].SmallestAmount = "0.00001", "0.00001"
		}, `.m1 .note:contains("no less than 0.00001 BTC")`, 1},
		{"the contract of a token is shown", "/invoice/abc", nil, `.m2 .contract:contains("EURC contract. Do not send to it.") code:contains("0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42")`, 1},
		{"a contract has no copy button", "/invoice/abc", nil, `.contract button`, 0},
		{"a coin has no contract", "/invoice/abc", nil, `.m1 .contract`, 0},
		{"the address of a token names its network", "/invoice/abc", nil, `.m2 dt:contains("Address on Base")`, 1},
		{"the first code of a token is its address alone", "/invoice/abc", nil, `.m2 .give > .qr title:contains("the address only")`, 1},
		{"links keep auto", "/invoice/abc?auto=1", nil, `a[href="/invoice/abc?auto=1&m=BTC"]`, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := invoice("abc")
			if tt.change != nil {
				tt.change(&r)
			}
			doc := document(t, get(t, pages(t, newService(r), nil), tt.target))
			if got := doc.Find(tt.selector).Length(); got != tt.want {
				t.Errorf("%d of %q, want %d", got, tt.selector, tt.want)
			}
		})
	}
}

// The shop chooses the invoice's currency, and the price of a coin is shown in that currency.
func TestPaymentPageInOtherCurrencies(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		currency, price, due, rate string
		want                       map[string]string
	}{
		{"CHF", "56.5", "13.29", "82099", map[string]string{
			".due .v": "CHF\u00a013.29", ".meter": "CHF\u00a043.21", ".due p.c": "1 BTC = CHF\u00a082,099.00",
		}},
		{"JPY", "5000", "1250", "14090781", map[string]string{
			".due .v": "¥1,250", ".meter": "¥3,750", ".due p.c": "1 BTC = ¥14,090,781",
		}},
	} {
		t.Run(tt.currency, func(t *testing.T) {
			t.Parallel()
			r := invoice("abc")
			r.ClientCurrency, r.ClientAmount, r.DueAmount = tt.currency, tt.price, tt.due
			r.Status, r.Exceptions = api.StatusPending, []string{api.ExceptionUnderpaid}
			r.PaymentMethods[0].RateClient = tt.rate
			doc := document(t, get(t, pages(t, newService(r), nil), "/invoice/abc"))
			for selector, want := range tt.want {
				if got := doc.Find(selector).First().Text(); !strings.Contains(got, want) {
					t.Errorf("%s: %q, want %q in it", selector, got, want)
				}
			}
			if body := doc.Find("body").Text(); strings.Contains(body, "€") || strings.Contains(body, "$") {
				t.Errorf("euros or dollars on the page: %s", body)
			}
		})
	}
}

// A service that implements only the specification returns no names, payment links or versions. The
// page is complete without them.
func TestPaymentPageOfAServiceWithTheSpecificationOnly(t *testing.T) {
	t.Parallel()
	r := api.Resource{
		ForeignID: "abc", Status: api.StatusCreated, ExpiredAt: "2026-11-27T12:14:32.000Z", SecondsLeft: 872,
		ClientAmount: "56.5", ClientCurrency: "EUR",
		PaymentMethods: []api.PaymentMethod{
			{CryptoCurrency: "BTC", Address: "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", ExpectedAmount: "0.00065379", RateEUR: "86420"},
			{CryptoCurrency: "EURC-BASE", Address: "0x1111111254EEB25477B68fb85Ed929f73A960582", ExpectedAmount: "56.5", RateEUR: "1"},
		},
	}
	h := pages(t, newService(r), func(c *web.Config) { c.ShopName = "" })
	doc := document(t, get(t, h, "/invoice/abc"))
	for selector, want := range map[string]int{
		`h1:contains("Checkout")`: 1, `head title:contains("Pay the shop")`: 1,
		`label[for=m2]:contains("EURC-BASE")`: 1, ".qr svg": 2, `[data-copy="0.00065379"]`: 1,
		`dt:contains("BTC address")`: 1, "#clock[data-left='872']": 1, `.note:contains("by hand")`: 0,
		`.due .c:contains("1 BTC = €86,420.00")`: 1,
	} {
		if got := doc.Find(selector).Length(); got != want {
			t.Errorf("%d of %q, want %d", got, selector, want)
		}
	}
}

func TestVersionChangesWhenTheQuoteExpires(t *testing.T) {
	t.Parallel()
	s := newService(invoice("abc"))
	h := pages(t, s, nil)
	version := func() string {
		return document(t, get(t, h, "/invoice/abc")).Find("#live").AttrOr("data-v", "")
	}
	held := version()
	r := invoice("abc")
	r.SecondsLeft = 0
	s.set(r)
	if ended := version(); held == "" || ended == held {
		t.Errorf("version is %q before and %q after", held, ended)
	}
}

func TestPaymentPageStatus(t *testing.T) {
	t.Parallel()
	paid := invoice("paid")
	states[6].change(&paid)
	h := pages(t, newService(invoice("abc"), paid), nil)
	for _, tt := range []struct {
		method, target string
		status         int
		refresh        string
	}{
		{http.MethodGet, "/invoice/abc", 200, ""},
		{http.MethodHead, "/invoice/abc", 200, ""},
		{http.MethodGet, "/invoice/abc?auto=1", 200, "20"},
		{http.MethodGet, "/invoice/paid?auto=1", 200, ""},
		{http.MethodGet, "/invoice/nosuch", 404, ""},
		{http.MethodGet, "/invoice/ab%20c", 404, ""},
		{http.MethodGet, "/invoice/..%2fabc", 404, ""},
		{http.MethodGet, "/invoice/" + strings.Repeat("a", 65), 404, ""},
		{http.MethodGet, "/invoice/", 404, ""},
		{http.MethodGet, "/invoice/abc/", 404, ""},
		{http.MethodPost, "/invoice/abc", 405, ""},
	} {
		response := do(h, httptest.NewRequestWithContext(t.Context(), tt.method, tt.target, nil))
		if response.StatusCode != tt.status {
			t.Errorf("%s %s = %d, want %d", tt.method, tt.target, response.StatusCode, tt.status)
		}
		if got := response.Header.Get("Refresh"); got != tt.refresh {
			t.Errorf("%s: Refresh = %q, want %q", tt.target, got, tt.refresh)
		}
		if got := response.Header.Get("Content-Type"); !strings.HasPrefix(got, "text/html") {
			t.Errorf("%s: Content-Type = %q", tt.target, got)
		}
	}
}
