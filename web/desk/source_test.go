package desk_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
)

// The pages of a product, a link and a terminal lead to their payments. The list keeps the source with its other
// filters.
func TestPayments_of_a_source(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	f.addLink("prints", func(link *merchant.Link) { link.Mode = merchant.Test })
	p := f.addProduct("coffee", "Filter coffee", "3.50")
	bar, err := f.terminals.Create(t.Context(), merchant.Terminal{MerchantID: shop, Mode: merchant.Test, Name: "Bar", Currency: "EUR"})
	f.must(err)
	f.testInvoices.sell(shop, "link", "3.50")
	f.testInvoices.sellFrom(invoice.Origin{Kind: invoice.FromTerminal, ID: bar.ID}, shop, "terminal", "3.50")
	f.testInvoices.sellFrom(invoice.Origin{Kind: invoice.FromProduct, ID: p.Slug}, shop, "test product", "3.50")
	f.testInvoices.mode = invoice.Live
	f.testInvoices.sellFrom(invoice.Origin{Kind: invoice.FromProduct, ID: p.Slug}, shop, "product", "3.50")
	f.testInvoices.sellFrom(invoice.Origin{Kind: invoice.FromProduct, ID: "tea"}, shop, "other product", "3.50")
	orders := func(path string) []string {
		t.Helper()
		return b.get(path).want(http.StatusOK, "Payments").find(".rows .go1").Map(func(_ int, s *selection) string { return textOf(s) })
	}
	for at, want := range map[string]string{"/desk/shop/products/coffee/edit": "product", "/desk/shop/links/prints/edit": "link", "/desk/shop/terminals?mode=test": "terminal"} {
		address := b.get(at).find(`main a[href*="/payments?source="]`).AttrOr("href", "")
		if answer := b.get(address + "&state=waiting"); !slices.Equal(orders(address), []string{want}) || answer.find(`.filter option[selected][value*=":"]`).Length() != 1 {
			t.Errorf("%s leads to the payments %q, want %s: %s", at, orders(address), want, answer.text())
		}
	}
	for query, want := range map[string][]string{
		"source=product": {"other product", "product"}, "source=link": nil, "source=link&mode=test": {"link"}, "source=product:tea&state=paid": nil, "source=product:tea&state=waiting": {"other product"},
		"source=product:tea&period=today": {"other product"},
	} {
		if got := orders("/desk/shop/payments?" + query); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	stateLink := b.get("/desk/shop/payments?source=product:tea").find(`.pick a`).AttrOr("href", "")
	if u, err := url.Parse(stateLink); err != nil || u.Query().Get("source") != "product:tea" {
		t.Errorf("the first state leads to %s, error %v, which has no source", stateLink, err)
	}
	for _, wrong := range []string{"source=nothing", "source=:tea", "source=nothing:tea", "source=product:" + url.QueryEscape("\x00")} {
		if text := b.get("/desk/shop/payments?"+wrong).want(http.StatusUnprocessableEntity, "There is no such origin.").text(); strings.Contains(text, "other product") {
			t.Errorf("%s: %s", wrong, text)
		}
	}
}

// The lists have the number and the sum of the invoices that were paid in the current month.
func TestSold_counts_paid_invoices_of_the_month(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.testInvoices
	f.addLink("prints", func(link *merchant.Link) { link.Mode = merchant.Test })
	p, err := f.products.Create(t.Context(), merchant.Product{
		Slug: "coffee", MerchantID: shop, Mode: merchant.Test, Name: "Coffee", Price: money.MustParse("80", money.EUR), AskOrderID: merchant.AskNo, AskNote: merchant.AskNo, Active: true,
	})
	f.must(err)
	bar, err := f.terminals.Create(t.Context(), merchant.Terminal{MerchantID: shop, Mode: merchant.Test, Name: "Bar", Currency: "EUR"})
	f.must(err)
	paid := func(kind invoice.OriginKind, id, merchantID string) {
		t.Helper()
		inv := s.sellFrom(invoice.Origin{Kind: kind, ID: id}, merchantID, id, "80.00")
		f.must(s.net.Confirm(t.Context(), []string{s.pay(inv, "0.001")}))
		s.step()
	}
	paid(invoice.FromProduct, p.Slug, shop)
	f.clock.Advance(5 * 24 * time.Hour) // to December
	b := f.owner()
	b.get("/desk/shop/products?mode=test").want(http.StatusOK, "Paid, Dec Revenue Price Coffee On sale – – €80.00")
	for range 2 {
		paid(invoice.FromProduct, p.Slug, shop)
	}
	s.sellFrom(invoice.Origin{Kind: invoice.FromProduct, ID: p.Slug}, shop, "waiting", "80.00")
	paid(invoice.FromProduct, p.Slug, "other")
	paid(invoice.FromLink, "prints", shop)
	paid(invoice.FromTerminal, bar.ID, shop)
	b.get("/desk/shop/products?mode=test").want(http.StatusOK, "Coffee On sale 2 €160.00 €80.00")
	b.get("/desk/shop/links?mode=test").want(http.StatusOK, "/pay/prints Filter coffee Active 1 €80.00 €3.50")
	b.get("/desk/shop/terminals?mode=test").want(http.StatusOK, "Bar EUR · created 27 Nov, 12:00 · 1 payment in Dec, €80.00")
}

// An invoice and its refund name the API key that made them by its label, or by its first characters, and a terminal by its
// name.
func TestPayment_names_its_actors(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	labelled, err := f.merchants.CreateKey(t.Context(), shop, merchant.Test, []merchant.Scope{merchant.ScopeAdmin}, "Web shop")
	f.must(err)
	bare, err := f.merchants.CreateKey(t.Context(), shop, merchant.Test, []merchant.Scope{merchant.ScopeLink}, "")
	f.must(err)
	bar, err := f.terminals.Create(t.Context(), merchant.Terminal{MerchantID: shop, Mode: merchant.Test, Name: "Bar", Currency: "EUR"})
	f.must(err)
	for _, tt := range []struct {
		origin invoice.Origin
		want   string
	}{
		{invoice.Origin{Kind: invoice.FromAPI, ID: labelled.ID}, "API key Web shop"},
		{invoice.Origin{Kind: invoice.FromSignedLink, ID: bare.ID}, "Signed link " + bare.Key[:8] + "…"},
		{invoice.Origin{Kind: invoice.FromTerminal, ID: bar.ID}, "Terminal Bar"},
	} {
		inv := f.testInvoices.sellFrom(tt.origin, shop, "1", "80.00")
		if page := b.get("/desk/shop/payments/"+inv.ID).want(http.StatusOK, tt.want); strings.Contains(page.text(), tt.origin.ID) {
			t.Errorf("the page has the identifier %s: %s", tt.origin.ID, page.text())
		}
		list := b.get("/desk/shop/payments?mode=test&source=" + string(tt.origin.Kind) + ":" + tt.origin.ID)
		if got := textOf(list.find(`.filter option[selected][value*=":"]`)); got != tt.want {
			t.Errorf("the filter is %q, want %q", got, tt.want)
		}
	}
	inv := f.testInvoices.sell(shop, "1047", "80.00")
	f.must(f.testInvoices.net.Confirm(t.Context(), []string{f.testInvoices.pay(inv, "0.001")}))
	f.testInvoices.step()
	_, _, err = f.testInvoices.CreateRefund(t.Context(), inv.ID, invoice.RefundDraft{
		Kind: invoice.RefundPart, Asset: "BTC", Amount: money.MustParse("0.0002", money.BTC), By: labelled.ID,
	})
	f.must(err)
	_, err = f.testInvoices.SetRefundAddress(t.Context(), inv.ID, labelled.ID, "BTC", shopperAddress)
	f.must(err)
	at := "/desk/shop/payments/" + inv.ID
	for path, want := range map[string]string{
		at: "By API key Web shop.", at + "/refund": "entered by the shopper on a page of the API key Web shop", "/desk/shop/refunds?mode=test": "By API key Web shop.",
	} {
		if page := b.get(path).want(http.StatusOK, want); strings.Contains(page.text(), labelled.ID) {
			t.Errorf("%s has the identifier of the key: %s", path, page.text())
		}
	}
}
