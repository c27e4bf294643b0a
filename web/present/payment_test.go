package present_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/views"
	"chequer/web/present"
	"chequer/web/present/presenttest"
)

// text returns the text of an element with runs of white space replaced by one space.
func text(s *goquery.Selection) string { return strings.Join(strings.Fields(s.Text()), " ") }

// noon is the time of every page.
var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// frame returns the frame of English pages of a site with a storefront, modified by change.
func frame(change func(*present.Frame)) present.Frame {
	f := present.Frame{
		Site:   &present.Site{ShopName: "Shop", Storefront: true},
		Reader: present.English(), Multilingual: true, Now: noon,
	}
	if change != nil {
		change(&f)
	}
	return f
}

// opened returns the page of an invoice that opens a method.
func opened(t *testing.T, f present.Frame, r api.Resource, method string) *goquery.Document {
	t.Helper()
	var b bytes.Buffer
	page := f.Payment(client.Snapshot{Resource: r, ETag: `"1"`}, method, false)
	if err := views.PaymentPage(page).Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	doc, err := goquery.NewDocumentFromReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// showIn returns the page of an invoice in a frame.
func showIn(t *testing.T, f present.Frame, r api.Resource) *goquery.Document {
	t.Helper()
	return opened(t, f, r, "")
}

// show returns the page of an invoice.
func show(t *testing.T, r api.Resource) *goquery.Document {
	t.Helper()
	return opened(t, frame(nil), r, "")
}

// page returns the page of an invoice, modified by change.
func page(t *testing.T, change func(*api.Resource)) *goquery.Document {
	t.Helper()
	r := presenttest.Invoice("abcdefgh12")
	change(&r)
	return show(t, r)
}

// TestPayment_page_marks_test_money_in_every_state checks that the page of a test invoice has the mark and the test
// tools in every state, and the page of a live invoice never does.
func TestPayment_page_marks_test_money_in_every_state(t *testing.T) {
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

func TestPayment_page_of_each_state(t *testing.T) {
	t.Parallel()
	for _, tt := range states {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := presenttest.Invoice("abc")
			tt.change(&r)
			doc := show(t, r)
			live := doc.Find("#live")
			for _, check := range []struct{ name, got, want string }{
				{"title", doc.Find("head title").Text(), tt.title},
				{"title of the fragment", live.AttrOr("data-title", ""), tt.title},
				{"heading", doc.Find("h2#st").Text(), tt.heading},
				{"label of the amount", doc.Find(".due .k").Text(), tt.head},
				{"amount", doc.Find(".due .v").Text(), tt.amount},
			} {
				if check.got != check.want {
					t.Errorf("%s = %q, want %q", check.name, check.got, check.want)
				}
			}
			if got := doc.Find(".qr svg").Length(); got != tt.codes {
				t.Errorf("%d QR codes, want %d", got, tt.codes)
			}
			if got := live.AttrOr("data-say", ""); !strings.Contains(got, tt.announcement) || (tt.announcement == "") != (got == "") {
				t.Errorf("announced %q, want %q in it", got, tt.announcement)
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
	paid := changeTo(t, "paid")
	for _, tt := range []struct {
		name     string
		change   func(*api.Resource)
		selector string
		want     int
	}{
		{"the first method is open", nil, "#m1[checked]", 1},
		{"a wallet opens coins", nil, `a#m1-open[href^="bitcoin:bc1q"]`, 1},
		{"a token has no wallet link", nil, "a#m2-open", 0},
		{"a token links to the page with the code with the amount", nil, `a#m2-more[href="/invoice/abc?m=EURC-BASE&amount=1#m2-more"]`, 1},
		{"a token has one code", nil, `.m2 .qr`, 1},
		{"the network of a token is named", nil, `.m2 .note.warn:contains("Network: Base only.")`, 1},
		{"an unwatched method has a note", nil, `.m2 .note:contains("Checked by hand.")`, 1},
		{"a watched method has no note", nil, `.m1 .note:contains("Checked by hand.")`, 0},
		{"a method whose network is behind has a note", func(r *api.Resource) { r.PaymentMethods[0].Behind = true }, `.m1 .note:contains("longer than usual")`, 1},
		{"a method whose network is not behind has no note", nil, `.note:contains("longer than usual")`, 0},
		{"live money has no test tools", nil, "form, .test", 0},
		{"test money is marked", test, `.test:contains("no real money")`, 1},
		{"a simulation that can work has its button", test, "#simulate button[name=action]", 6},
		{"demo rates are marked", test, `.test:contains("demo rates")`, 1},
		{"paid leads back to the shop", paid, `a#return[href="https://shop.example/thanks?order=1042&invoice=abc"]`, 1},
		{"paid is final", paid, `#live[data-final]`, 1},
		{"paid has a countdown to the shop", paid, `#auto[hidden] #stay`, 1},
		{"paid without a confirmation is not final", func(r *api.Resource) {
			paid(r)
			r.Payments[0].Confirmations, r.Payments[0].Required = 0, 0
		}, `#live[data-final]`, 0},
		{"removed data have a note", func(r *api.Resource) {
			paid(r)
			r.PersonalDataRemovedAt, r.PersonalDataRemoved = "2028-11-27T20:15:32.782Z", []string{"metadata", "notes"}
		}, `.note:contains("Personal data of this payment were removed on 27 Nov 2028, 20:15 UTC.")`, 1},
		{"a removed way back has a note", func(r *api.Resource) {
			r.Status, r.URLFailure, r.PersonalDataRemovedAt, r.PersonalDataRemoved = api.StatusExpired, "", "2028-11-27T20:15:32.782Z", []string{"return_addresses"}
		}, `.note:contains("were removed on")`, 1},
		{"removed notes of the team have no note", func(r *api.Resource) {
			paid(r)
			r.PersonalDataRemovedAt, r.PersonalDataRemoved = "2028-11-27T20:15:32.782Z", []string{"notes"}
		}, `.note:contains("were removed on")`, 0},
		{"nothing removed has no note", func(r *api.Resource) {
			paid(r)
			r.PersonalDataRemovedAt = "2028-11-27T20:15:32.782Z"
		}, `.note:contains("were removed on")`, 0},
		{"waiting is not final", nil, `#live[data-final]`, 0},
		{"declined is final", func(r *api.Resource) { r.Status = api.StatusDeclined }, `#live[data-final]`, 1},
		{"expired links to a new payment", func(r *api.Resource) { r.Status = api.StatusExpired }, `a#again[href="https://shop.example/basket?invoice=abc"]`, 1},
		{"expired without an address of the shop leads to the storefront", func(r *api.Resource) { r.Status, r.URLFailure = api.StatusExpired, "" }, `a#again[href="/"]`, 1},
		{"an address that is not http or https is ignored", func(r *api.Resource) { paid(r); r.URLSuccess = "javascript:alert(1)" }, `a#return[href^="javascript"], #auto`, 0},
		{"a dropped payment is announced once", func(r *api.Resource) { r.Exceptions = []string{api.ExceptionReplaced} }, `[role=alert]`, 0},
		{"the rest is never below the network's smallest amount", func(r *api.Resource) {
			r.Status, r.DueAmount = api.StatusPending, "0.1"
			r.PaymentMethods[0].DueAmount, r.PaymentMethods[0].SmallestAmount = "0.00001", "0.00001"
		}, `.m1 .note:contains("no less than 0.00001 BTC")`, 1},
		{"the contract of a token is shown", nil, `.m2 .contract:contains("EURC contract. Do not send to it.") code:contains("0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42")`, 1},
		{"a contract has no copy button", nil, `.contract button`, 0},
		{"a coin has no contract", nil, `.m1 .contract`, 0},
		{"the address of a token names its network", nil, `.m2 dt:contains("Address on Base")`, 1},
		{"the first code of a token is its address alone", nil, `.m2 .give > .qr title:contains("the address only")`, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := presenttest.Invoice("abc")
			if tt.change != nil {
				tt.change(&r)
			}
			doc := show(t, r)
			if got := doc.Find(tt.selector).Length(); got != tt.want {
				t.Errorf("%d of %q, want %d", got, tt.selector, tt.want)
			}
		})
	}
}

// The shop chooses the invoice's currency, and the price of a coin is shown in that currency.
func TestPayment_page_in_other_currencies(t *testing.T) {
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
			r := presenttest.Invoice("abc")
			r.ClientCurrency, r.ClientAmount, r.DueAmount = tt.currency, tt.price, tt.due
			r.Status, r.Exceptions = api.StatusPending, []string{api.ExceptionUnderpaid}
			r.PaymentMethods[0].RateClient = tt.rate
			doc := show(t, r)
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
func TestPayment_page_of_a_service_with_the_specification_only(t *testing.T) {
	t.Parallel()
	r := api.Resource{
		ForeignID: "abc", Status: api.StatusCreated, ExpiredAt: "2026-11-27T12:14:32.000Z", SecondsLeft: 872,
		ClientAmount: "56.5", ClientCurrency: "EUR",
		PaymentMethods: []api.PaymentMethod{
			{CryptoCurrency: "BTC", Address: "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", ExpectedAmount: "0.00065379", RateEUR: "86420"},
			{CryptoCurrency: "EURC-BASE", Address: "0x1111111254EEB25477B68fb85Ed929f73A960582", ExpectedAmount: "56.5", RateEUR: "1"},
		},
	}
	doc := showIn(t, frame(func(f *present.Frame) { f.ShopName = "" }), r)
	for selector, want := range map[string]int{
		`h1:contains("Checkout")`: 1, `head title:contains("Pay the shop")`: 1,
		`label[for=m2]:contains("EURC-BASE")`: 1, ".qr svg": 2, `[data-copy="0.00065379"]`: 1,
		`dt:contains("BTC address")`: 1, "#left[value='872']": 1, `.note:contains("by hand")`: 0,
		`.due .c:contains("1 BTC = €86,420.00")`: 1,
	} {
		if got := doc.Find(selector).Length(); got != want {
			t.Errorf("%d of %q, want %d", got, selector, want)
		}
	}
}

func TestVersion_changes_when_the_quote_expires(t *testing.T) {
	t.Parallel()
	r := presenttest.Invoice("abc")
	version := func() string { return show(t, r).Find("#live").AttrOr("data-v", "") }
	beforeExpiry := version()
	r.SecondsLeft = 0
	if afterExpiry := version(); beforeExpiry == "" || afterExpiry == beforeExpiry {
		t.Errorf("version is %q before and %q after", beforeExpiry, afterExpiry)
	}
}

func TestPayment_page_says_start_again_only_with_its_button(t *testing.T) {
	t.Parallel()
	r := presenttest.Invoice("abc")
	r.Status, r.SecondsLeft, r.URLFailure = api.StatusExpired, -900, ""
	expired := presenttest.Invoice("def")
	expired.SecondsLeft, expired.URLFailure = -5, ""
	for _, storefront := range []bool{true, false} {
		f := frame(func(f *present.Frame) { f.Storefront = storefront })
		for _, r := range []api.Resource{r, expired} {
			doc := showIn(t, f, r)
			shown := text(doc.Find(".lead, .note")) + doc.Find("#live").AttrOr("data-say", "")
			if got := strings.Contains(strings.ToLower(shown), "start again"); got != storefront || (doc.Find("#again").Length() == 1) != storefront {
				t.Errorf("%s: \"start again\" on the page is %t in %q, want %t, and the same for the button", r.ForeignID, got, shown, storefront)
			}
		}
	}
}

func TestHead_names_order_and_reference(t *testing.T) {
	t.Parallel()
	for order, want := range map[string]string{"1042": "Order 1042 · Ref. abcd-efgh", "": "Ref. abcd-efgh"} {
		doc := page(t, func(r *api.Resource) { r.OrderID = order })
		if got := text(doc.Find(".ref")); got != want {
			t.Errorf("the head says %q, want %q", got, want)
		}
	}
}

func TestDirectional_characters_are_removed(t *testing.T) {
	t.Parallel()
	r := presenttest.Invoice("abc")
	r.OrderID, r.Description, r.MerchantName = "A\u202e1", "x\u2066y\u0007", "\u202eShop\u2028"
	body := show(t, r).Text()
	for _, control := range []string{"\u202e", "\u2066", "\u0007", "\u2028"} {
		if strings.Contains(body, control) {
			t.Errorf("the page contains %U", []rune(control)[0])
		}
	}
}
