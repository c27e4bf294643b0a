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
	f.testSales.sell(shop, "link", "3.50")
	f.testSales.sellFrom(invoice.Origin{Kind: invoice.FromTerminal, ID: bar.ID}, shop, "terminal", "3.50")
	f.testSales.sellFrom(invoice.Origin{Kind: invoice.FromProduct, ID: p.Slug}, shop, "test product", "3.50")
	f.testSales.mode = invoice.Live
	f.testSales.sellFrom(invoice.Origin{Kind: invoice.FromProduct, ID: p.Slug}, shop, "product", "3.50")
	f.testSales.sellFrom(invoice.Origin{Kind: invoice.FromProduct, ID: "tea"}, shop, "other product", "3.50")
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
	s := f.testSales
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
