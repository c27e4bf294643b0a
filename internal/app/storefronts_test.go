package app_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"chequer/internal/app"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/theme"
)

// addSecondShop adds a shop with a product and a theme to a running server, as another process does.
func (p *program) addSecondShop() (*app.Core, merchant.Merchant) {
	p.t.Helper()
	ctx := p.t.Context()
	core, err := app.OpenCore(ctx, p.config, app.Options{Existing: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { core.Close() })
	m, err := core.Merchants.CreateShop(ctx, "Café Süd", "")
	if err == nil {
		_, err = core.Products.Create(ctx, merchant.Product{
			MerchantID: m.ID, Mode: merchant.Test, Slug: "tea", Name: "Green tea", Price: money.FromCents(450, money.EUR), MaxQuantity: 3, AskOrderID: merchant.AskNo, AskNote: merchant.AskNo, Active: true,
		})
	}
	if err == nil {
		_, err = core.Themes.Set(ctx, m.ID, theme.Theme{Line: "Only in the south"}, nil)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return core, m
}

// page fetches a page without following redirects.
func (p *program) page(path string) (*http.Response, *goquery.Document) {
	p.t.Helper()
	return p.read(http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.url+path, nil))
}

// sendForm sends a form without following redirects.
func (p *program) sendForm(path string, values url.Values) (*http.Response, *goquery.Document) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.url+path, strings.NewReader(values.Encode()))
	if err == nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("Origin", p.url)
	}
	return p.read(r, err)
}

// read sends a request, unless there is an error, and parses the page that answers it.
func (p *program) read(r *http.Request, err error) (*http.Response, *goquery.Document) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(string(text)))
	if err != nil {
		p.t.Fatal(err)
	}
	return response, doc
}

// Each shop has a storefront with its own name, theme and products, and the pages of its invoices lead back to
// it.
func TestStorefront_of_each_shop(t *testing.T) {
	t.Parallel()
	p := demo(t)
	core, m := p.addSecondShop()
	root := "/s/m_cafe-sud"
	if m.Path() != root {
		t.Fatalf("the path is %s, want %s", m.Path(), root)
	}
	home := func(doc *goquery.Document) string {
		return doc.Find("header a[href], .brand a[href], a.brand").First().AttrOr("href", "")
	}
	for _, path := range []string{root, root + "/shop", root + "/shop/tea"} {
		response, doc := p.page(path)
		text := doc.Text()
		if response.StatusCode != http.StatusOK || !strings.Contains(text, "Café Süd") || !strings.Contains(text, "Only in the south") {
			t.Errorf("%s: answer %d: %s", path, response.StatusCode, text)
		}
		if title := doc.Find("title").Text(); strings.Contains(title, "Demo shop") || strings.Contains(text, "Coffee") {
			t.Errorf("%s shows another shop: %s", path, text)
		}
		doc.Find("a[href], form[action]").Each(func(_ int, s *goquery.Selection) {
			address := s.AttrOr("href", s.AttrOr("action", ""))
			if strings.HasPrefix(address, "/") && !strings.HasPrefix(address, root) && !strings.HasPrefix(address, "/order"+root) {
				t.Errorf("%s leads to %s", path, address)
			}
		})
	}
	if _, doc := p.page("/shop"); strings.Contains(doc.Text(), "Green tea") || !strings.Contains(doc.Find("title").Text(), "Demo shop") {
		t.Errorf("the storefront at the root shows another shop: %s", doc.Text())
	}
	for path, want := range map[string]int{
		"/s/m_unknown": 404, "/s/m_unknown/shop": 404, "/s/%00": 404, "/s/m_first": 200, "/s/m_first/shop": 200,
		root + "/shop/coffee": 404, "/shop/tea": 404, root + "/": 308, "/order" + root: 303, "/order" + root + "/shop/tea": 303,
	} {
		if response, _ := p.page(path); response.StatusCode != want {
			t.Errorf("%s: answer %d, want %d", path, response.StatusCode, want)
		}
	}
	if _, doc := p.page(root + "/shop/coffee"); doc.Find(`a[href="`+root+`/shop"]`).Length() == 0 {
		t.Error("a missing product does not lead to the products of its shop")
	}

	for page, amount := range map[string]string{root: "12.50", root + "/shop/tea": ""} {
		_, doc := p.page(page)
		path, values := doc.Find("main form").AttrOr("action", ""), url.Values{}
		doc.Find("main form input").Each(func(_ int, s *goquery.Selection) { values.Set(s.AttrOr("name", ""), s.AttrOr("value", "")) })
		if amount != "" {
			values.Set("amount", amount)
		}
		response, doc := p.sendForm(path, values)
		location := response.Header.Get("Location")
		id, created := strings.CutPrefix(location, "/invoice/")
		if response.StatusCode != http.StatusSeeOther || !created {
			t.Fatalf("%s: answer %d to %q: %s", path, response.StatusCode, location, doc.Text())
		}
		if inv, err := core.Storage.Invoice(t.Context(), id); err != nil || inv.MerchantID != m.ID || inv.Terms.Merchant != "Café Süd" {
			t.Errorf("%s: got the invoice %+v, %v", path, inv, err)
		}
		if _, page := p.page(location); home(page) != root || !strings.Contains(page.Text(), "Only in the south") {
			t.Errorf("%s: the page leads to %q: %s", location, home(page), page.Text())
		}
	}
	if _, doc := p.page("/invoice/" + strings.Repeat("0", 32)); strings.Contains(doc.Text(), "Café Süd") {
		t.Error("the page of an unknown invoice shows the second shop")
	}
	if err := core.Merchants.RenameShop(t.Context(), "m_first", "", "Kiosk"); err != nil {
		t.Fatal(err)
	}
	if m, err := core.Merchants.Merchant(t.Context(), "m_first"); err != nil || m.Name != "Kiosk" {
		t.Errorf("after renaming: got %+v, %v", m, err)
	}
}

// The pages of each shop have the languages of its settings, also the pages of its invoices and their streams.
func TestStorefront_has_the_languages_of_its_shop(t *testing.T) {
	t.Parallel()
	p := demo(t)
	core, m := p.addSecondShop()
	if _, err := core.Settings.Change(t.Context(), m.ID, "", merchant.Choices{merchant.SettingLanguages: "de fr"}); err != nil {
		t.Fatal(err)
	}
	if _, err := core.Settings.Change(t.Context(), "m_first", "", merchant.Choices{merchant.SettingLanguages: "en es it"}); err != nil {
		t.Fatal(err)
	}
	language := func(path string) string {
		_, doc := p.page(path)
		return doc.Find("html").AttrOr("lang", "")
	}
	listed := func(path string) int {
		_, doc := p.page(path)
		return doc.Find(".languages a").Length()
	}
	response, doc := p.sendForm("/order"+m.Path(), url.Values{"amount": {"12.50"}, "token": {strings.Repeat("t", 26)}})
	invoice := response.Header.Get("Location")
	if !strings.HasPrefix(invoice, "/invoice/") {
		t.Fatalf("got no invoice: %s", doc.Text())
	}
	for _, path := range []string{m.Path(), m.Path() + "/shop", invoice} {
		if got := language(path+"?lang=fr") + " " + language(path+"?lang=es") + " " + language(path); got != "fr de de" {
			t.Errorf("%s is in %s, want fr de de", path, got)
		}
		if n := listed(path + "?lang="); n != 2 {
			t.Errorf("%s lists %d languages, want 2", path, n)
		}
	}
	if got := language("/?lang=es") + " " + language("/?lang=fr"); got != "es en-IE" {
		t.Errorf("the page at the root is in %s", got)
	}
	if n := listed("/?lang="); n != 3 {
		t.Errorf("the page at the root lists %d languages, want 3", n)
	}
	for path, want := range map[string]string{invoice + "?lang=fr": "lang=fr", invoice: ""} {
		_, page := p.page(path)
		stream := page.Find("[data-stream]").AttrOr("data-stream", "")
		if !strings.Contains(stream, "shop="+m.ID) || !strings.Contains(stream, want) {
			t.Errorf("%s has the stream %q", path, stream)
		}
	}
	if response, _ := p.sendForm(invoice+"/quote?lang=fr", url.Values{"quote": {"1"}}); !strings.Contains(response.Header.Get("Location"), "lang=fr") {
		t.Errorf("a form leads to %q without the language", response.Header.Get("Location"))
	}
}
