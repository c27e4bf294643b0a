package desk_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"chequer/internal/account"
	"chequer/internal/merchant"
)

// The page builds the code for a link and for a product, with a text that the account enters or with the default text.
func TestStorefront_builds_code_for_links_and_products(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	b.get("/desk/shop/storefront").want(http.StatusOK, "https://shop.example/shop").want(http.StatusOK, "Off. The setting CHEQUER_STOREFRONT turns it on.").want(http.StatusOK, "There is no checkout link and no product on sale.")
	f.addProduct("print", "Fjord & <Co>", "64.00")
	f.addLink("coffee", nil)
	f.addLink("tips", func(link *merchant.Link) { link.Amount = "" })
	f.addLink("test", func(link *merchant.Link) { link.Mode = merchant.Test })
	for name, tt := range map[string]struct{ query, link, dialog string }{
		"newest link": {"", `<a href="https://shop.example/pay/tips">Pay</a>`, `<a href="https://shop.example/pay/tips" data-pay>Pay</a>` + "\n" + `<script src="https://shop.example/embed.js" defer></script>`},
		"link": {
			"?item=pay/coffee&text=", `<a href="https://shop.example/pay/coffee">Pay €3.50</a>`,
			`<a href="https://shop.example/pay/coffee" data-pay>Pay €3.50</a>` + "\n" + `<script src="https://shop.example/embed.js" defer></script>`,
		},
		"product":   {"?item=shop/print", `<a href="https://shop.example/shop/print">Buy Fjord &amp; &lt;Co&gt;, €64.00</a>`, ""},
		"own text":  {"?item=shop/print&text=Now%3C", `<a href="https://shop.example/shop/print">Now&lt;</a>`, ""},
		"test link": {"?mode=test", `<a href="https://shop.example/pay/test">Pay €3.50</a>`, `<a href="https://shop.example/pay/test" data-pay>Pay €3.50</a>` + "\n" + `<script src="https://shop.example/embed.js" defer></script>`},
	} {
		p := b.get("/desk/shop/storefront"+tt.query).want(http.StatusOK, "Code for your site")
		if got := p.find("#code-link").Text(); got != tt.link {
			t.Errorf("%s: the link is %q, want %q", name, got, tt.link)
		}
		if got := p.find("#code-dialog").Text(); got != tt.dialog {
			t.Errorf("%s: the button is %q, want %q", name, got, tt.dialog)
		}
		if listed := strings.Contains(p.text(), "https://nord.example"); listed != (tt.dialog != "") {
			t.Errorf("%s: the page lists the sites = %t", name, listed)
		}
	}
	for _, path := range []string{"/desk/shop/products/print/edit", "/desk/shop/links/coffee/edit", "/desk/shop/links/test/edit"} {
		at := b.get(path).find(`a[href*="/storefront?item="]`).AttrOr("href", "")
		b.get(strings.TrimSuffix(at, "#code")).want(http.StatusOK, "Preview")
	}
}

// Links that have ended do not keep older ones out of the list, however many they are.
func TestStorefront_lists_links_behind_ended_ones(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	create := func(slug string, createdAt, endsAt time.Time) {
		f.must(f.storage.CreateLink(t.Context(), merchant.Link{Slug: slug, MerchantID: shop, Mode: merchant.Live, Amount: "3.50", Currency: "EUR", CreatedAt: createdAt, EndsAt: endsAt}))
	}
	now := f.clock.Now()
	create("coffee", now.Add(-2*time.Hour), time.Time{})
	for i := range 205 {
		create(fmt.Sprint("event-", i), now.Add(-time.Hour), now.Add(-time.Minute))
	}
	f.owner().get("/desk/shop/storefront").want(http.StatusOK, "/pay/coffee")
}

// An item that is not in the list and a text that is not one line are refused at their fields.
func TestStorefront_refuses_unlisted_items_and_invalid_texts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	f.addLink("coffee", nil)
	p := f.addProduct("print", "Fjord", "64.00")
	_, err := f.products.Change(t.Context(), shop, p.Mode, p.Slug, func(p *merchant.Product) error { p.Active = false; return nil })
	f.must(err)
	f.addLink("foreign", func(link *merchant.Link) { link.MerchantID = "other" })
	for query, want := range map[string][2]string{
		"item=pay/nothing":                  {"item", "Link or product is not one of the list."},
		"item=pay/foreign":                  {"item", "Link or product is not one of the list."},
		"item=shop/print":                   {"item", "Link or product is not one of the list."},
		"item=javascript:alert(1)":          {"item", "Link or product is not one of the list."},
		"text=" + strings.Repeat("x", 121):  {"text", "Error: Text of the button must have at most 120 characters."},
		"item=pay/coffee&text=a%E2%80%AEbc": {"text", "Error: Text of the button must not contain the invisible character U+202E."},
	} {
		answer := b.get("/desk/shop/storefront?"+query).want(http.StatusUnprocessableEntity, "There is no code for this.")
		if got := answer.fault(want[0]); got != want[1] {
			t.Errorf("%s: %q, want %q", query, got, want[1])
		}
		if n := answer.find("pre").Length(); n != 0 {
			t.Errorf("%s: the page has %d snippets", query, n)
		}
	}
	team, err := f.accounts.Team(t.Context())
	f.must(err)
	f.must(f.accounts.ChangeRoles(t.Context(), team[0].ID, func(r map[string]account.Role) error { r["other"] = account.Manager; return nil }))
	b.get("/desk/other/storefront").want(http.StatusOK, "/s/other/shop").want(http.StatusOK, "/pay/foreign")
}
