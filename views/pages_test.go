package views_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/a-h/templ"

	"chequer/internal/locale"
	"chequer/views"
)

func TestPaymentPage_has_labels_codes_and_complete_values(t *testing.T) {
	t.Parallel()
	doc := rendered(t, views.PaymentPage(payment()))
	for _, tt := range []struct {
		name, selector string
		want           int
	}{
		{"one h1", "h1", 1},
		{"one main part", "main", 1},
		{"one status region, empty on load", `#say[role=status]:empty`, 1},
		{"a radio button for each method", `fieldset input[type=radio][name=method]`, 2},
		{"one radio button is chosen", `input[type=radio][checked]`, 1},
		{"each radio button has its label", `fieldset label[for=m1], fieldset label[for=m2]`, 2},
		{"the switch has a name", "fieldset legend", 1},
		{"every method is on the page", "section.way .give", 2},
		{"codes are pictures with a name", `svg[role=img][aria-labelledby] > title[id]`, 2},
		{"copied amounts have no groups", `[data-copy="0.00065379"]`, 1},
		{"copied addresses are whole", `[data-copy="bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"]`, 1},
		{"the wallet link is kept", `a#m1-open[href^="bitcoin:bc1q"]`, 1},
		{"a link that runs a script is removed", `a[href^="javascript:"]`, 0},
		{"each method has a link to check again", `a.only-nojs[href="/invoice/abc?m=BTC"], a.only-nojs[href="/invoice/abc?m=EURC-BASE"]`, 2},
		{"the clock counts seconds", `#live > #left[value="872"]`, 1},
		{"the page works before its script", "html.nojs", 1},
		{"no inline style", "style, [style]", 0},
		{"no inline script", "script:not([src])", 0},
		{"the simulation is a form", `form#simulate[method=post] button[name=action]`, 1},
		{"the choice of methods is part of the simulation's form", `input[type=radio][form=simulate]`, 2},
	} {
		if got := doc.Find(tt.selector).Length(); got != tt.want {
			t.Errorf("%s: %d of %q, want %d", tt.name, got, tt.selector, tt.want)
		}
	}
	requireUniqueIDs(t, doc)
	if got, want := doc.Find("section.m1 code.addr").Text(), "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"; got != want {
		t.Errorf("selecting the address gives %q, want %q", got, want)
	}
	if got, want := doc.Find("section.m1 code.num").Text(), "0.00065379"; got != want {
		t.Errorf("selecting the amount gives %q, want %q", got, want)
	}
}

func TestPaymentPage_with_one_method_has_no_switch(t *testing.T) {
	t.Parallel()
	p := payment()
	p.Methods = p.Methods[:1]
	doc := rendered(t, views.PaymentPage(p))
	if n := doc.Find("fieldset, .way").Length(); n != 0 {
		t.Errorf("%d parts of a switch, want none", n)
	}
	if n := doc.Find(".give").Length(); n != 1 {
		t.Errorf("%d methods shown, want 1", n)
	}
}

func TestPaymentPage_has_a_live_fragment(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := templ.RenderFragments(t.Context(), &b, views.PaymentPage(payment()), "live"); err != nil {
		t.Fatal(err)
	}
	html := strings.TrimSpace(b.String())
	if !strings.HasPrefix(html, `<div id="live"`) || !strings.HasSuffix(html, "</div>") || strings.Contains(html, "<head>") {
		t.Errorf("fragment = %.80s … %s", html, html[len(html)-20:])
	}
}

func TestPaymentPage_escapes_texts(t *testing.T) {
	t.Parallel()
	p := payment()
	evil := `"><script>alert(1)</script>`
	p.Shop, p.Label, p.Summary.Text, p.Announcement = evil, []string{evil}, evil, evil
	p.Methods[0].Address, p.Methods[0].AddressParts = evil, views.AddressGroups(evil)
	doc := rendered(t, views.PaymentPage(p))
	if n := doc.Find("script:not([src])").Length(); n != 0 {
		t.Errorf("%d inline scripts, want none", n)
	}
	if got := doc.Find("h1").Text(); got != evil {
		t.Errorf("h1 = %q, want the text unchanged", got)
	}
}

func TestWalletURL_accepts_only_schemes_of_wallets(t *testing.T) {
	t.Parallel()
	for _, ok := range []string{"bitcoin:bc1q?amount=1", "LIGHTNING:LNBC1", "ethereum:0x@1?value=1", "litecoin:x", "monero:x"} {
		if views.WalletURL(ok) != templ.SafeURL(ok) {
			t.Errorf("WalletURL(%q) is empty, want the URI", ok)
		}
	}
	for _, bad := range []string{"", "javascript:alert(1)", "https://bitcoin:x", " bitcoin:x", "data:text/html,x", "bitcoin", "//bitcoin:"} {
		if got := views.WalletURL(bad); got != "" {
			t.Errorf("WalletURL(%q) = %q, want none", bad, got)
		}
	}
}

func TestStorefrontPage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		form     views.Storefront
		selector string
		want     int
	}{
		{"label above the field", views.Storefront{}, `label[for=amount]`, 1},
		{"hint belongs to the field", views.Storefront{}, `input#amount[aria-describedby=amount-hint][inputmode=decimal]`, 1},
		{"nothing with a placeholder, disabled or required", views.Storefront{}, `[placeholder], [disabled], [required]`, 0},
		{"no script at all", views.Storefront{}, `script`, 0},
		{"token kept", views.Storefront{Form: views.Form{Token: "abc"}}, `input[type=hidden][name=token][value=abc]`, 1},
		{"value kept", views.Storefront{Form: views.Form{Amount: "1,234.56", Error: "No"}}, `input#amount[value="1,234.56"][aria-invalid=true]`, 1},
		{"summary leads to the field", views.Storefront{Form: views.Form{Error: "No"}}, `.err[role=alert] a[href="#amount"]`, 1},
		{"message at the field", views.Storefront{Form: views.Form{Error: "No"}}, `#amount-error`, 1},
		{"an internal error is not shown at the field", views.Storefront{Form: views.Form{Fault: "Sorry"}}, `.err[role=alert]:not(:has(a)), .bad`, 1},
		{"demo is marked", views.Storefront{Demo: true}, `p:contains("This is a demo")`, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.form.Action, tt.form.Language = "/", locale.All().Default()
			doc := rendered(t, views.StorefrontPage(tt.form))
			if got := doc.Find(tt.selector).Length(); got != tt.want {
				t.Errorf("%d of %q, want %d", got, tt.selector, tt.want)
			}
			requireUniqueIDs(t, doc)
		})
	}
}

func payment() views.Payment {
	return views.Payment{
		Page: views.Page{Language: locale.All().Default(), Title: "Pay Shop", Shop: "Shop", Style: "/static/pay.css", Script: "/static/pay.js", Icon: "/static/icon.svg"},
		Kind: "waiting", Version: "3", Self: "/invoice/abc", Stream: "/invoice/abc/live?v=3",
		Due:     views.Due{Label: "Amount due", Amount: "€56.50"},
		Heading: "Waiting for your payment", Open: true,
		Clock: views.Clock{Until: "15:42 UTC", Left: "872"},
		Check: views.Link{Text: "Check for my payment", URL: "/invoice/abc?m="},
		Methods: []views.Method{
			{
				ID: "m1", Code: "BTC", Label: "Bitcoin", Symbol: "BTC", Chosen: true, Unit: "BTC", Line: "0.00065379 BTC",
				QR: picture("m1-qr"), Wallet: views.WalletURL("bitcoin:bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4?amount=0.00065379"),
				Amount: "0.00065379", AmountGroups: views.AmountGroups("0.00065379"),
				Address: "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", AddressParts: views.AddressGroups("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"),
			},
			{
				ID: "m2", Code: "EURC-BASE", Label: "EURC", Network: "Base", Symbol: "EURC", Unit: "EURC",
				QR: picture("m2-qr"), Amount: "56.5", AmountGroups: views.AmountGroups("56.5"),
			},
		},
		Again:    views.Link{Text: "Start again", URL: "javascript:alert(1)"},
		Back:     views.Link{Text: "Back", URL: "javascript:alert(1)"},
		Simulate: views.Simulate{Action: "/invoice/abc/simulate", Groups: []views.Simulations{{Heading: "A payment arrives", Actions: []views.Simulation{{Value: "exact", Text: "Exact amount"}}}}},
	}
}

func picture(id string) views.Picture {
	return views.Picture{ID: id, Title: "QR code", Code: views.QR{ViewBox: "-4 -4.5 29 29", Path: "M0 0h7"}}
}

func rendered(t *testing.T, page templ.Component) *goquery.Document {
	t.Helper()
	var b bytes.Buffer
	if err := page.Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	doc, err := goquery.NewDocumentFromReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// requireUniqueIDs reports IDs that two elements have, and references to IDs that no element has.
func requireUniqueIDs(t *testing.T, doc *goquery.Document) {
	t.Helper()
	seen := map[string]bool{}
	for _, id := range doc.Find("[id]").Map(func(_ int, s *goquery.Selection) string { return s.AttrOr("id", "") }) {
		if seen[id] {
			t.Errorf("two elements have the id %q", id)
		}
		seen[id] = true
	}
	for _, name := range doc.Find("[aria-labelledby], [aria-describedby]").Map(func(_ int, s *goquery.Selection) string {
		return s.AttrOr("aria-labelledby", "") + " " + s.AttrOr("aria-describedby", "")
	}) {
		for _, id := range strings.Fields(name) {
			if !seen[id] {
				t.Errorf("an element refers to the id %q, which does not exist", id)
			}
		}
	}
}
