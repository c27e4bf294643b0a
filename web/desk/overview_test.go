package desk_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"chequer/internal/account"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
)

// settle pays an amount of coins to an invoice and confirms it.
func (s *testInvoices) settle(inv *invoice.Invoice, amount string) {
	s.fixture.t.Helper()
	s.fixture.must(s.net.Confirm(s.fixture.t.Context(), []string{s.pay(inv, amount)}))
	s.step()
}

// totals returns the totals of a page as text.
func (p page) totals() string { p.t.Helper(); return textOf(p.find(".kpi")) }

func TestOverview_shows_totals_chart_and_newest_payments(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	s := f.testInvoices
	const at = "/desk/shop?mode=test"
	b.get(at).want(http.StatusOK, "No payments in this period.")

	s.settle(s.sell(shop, "1", "40.00"), "0.0005")
	s.settle(s.sell("other", "2", "80.00"), "0.001")
	f.clock.Advance(7 * 24 * time.Hour) // to 4 December
	s.settle(s.sell(shop, "3", "80.00"), "0.001")
	f.clock.Advance(24 * time.Hour)
	s.settle(s.sell(shop, "4", "20.00"), "0.0003") // overpaid by 4.00
	short := s.sell(shop, "5", "80.00")
	s.expire()
	s.pay(short, "0.0005")
	s.sell(shop, "6", "80.00")

	b = f.as("Tove", account.Manager) // the owner's session has ended
	page := b.get(at).want(http.StatusOK, "Overview")
	if got, want := page.totals(), "Received €100.00 +150 %, €40.00 in the period before Payments 2 1 in the period before Waiting now 1 0 seen, not confirmed Needs attention 2 wait for a decision"; got != want {
		t.Errorf("the totals are %q, want %q", got, want)
	}
	if got, want := page.find(".chart svg").AttrOr("aria-label", ""), "Received per day, 29 Nov 2026 to 5 Dec 2026. Most: 4 Dec 2026: €80.00. The table below has every figure."; got != want {
		t.Errorf("the chart is %q, want %q", got, want)
	}
	if got, want := strings.Join(page.find(".chart title").Map(func(_ int, s *selection) string { return s.Text() }), "; "),
		"29 Nov 2026: €0.00; 30 Nov 2026: €0.00; 1 Dec 2026: €0.00; 2 Dec 2026: €0.00; 3 Dec 2026: €0.00; 4 Dec 2026: €80.00; 5 Dec 2026: €20.00"; got != want {
		t.Errorf("the bars are %q, want %q", got, want)
	}
	if got, want := page.find(".chart .c1").Length(), 2; got != want {
		t.Errorf("%d bars are painted, want %d", got, want)
	}
	if got, want := textOf(page.find(".chart tbody tr").Last()), "5 Dec 2026 1 €20.00"; got != want {
		t.Errorf("the last row of the table is %q, want %q", got, want)
	}
	if got, want := page.names(), "6 5 4 3 1"; got != want {
		t.Errorf("the newest payments are %q, want %q", got, want)
	}
	if got, want := textOf(page.find(".list h3")), "4: Overpaid 5: Late"; got != want {
		t.Errorf("the cases are %q, want %q", got, want)
	}
	for period, want := range map[string]string{
		"today": "Received €20.00 −75 %, €80.00 in the period before Payments 1 1 in the period before",
		"month": "Received €140.00 €0.00 in the period before Payments 3 0 in the period before",
	} {
		if got := b.get(at+"&period="+period).want(http.StatusOK, "Overview").totals(); !strings.HasPrefix(got, want) {
			t.Errorf("the totals of %s are %q, want %q", period, got, want)
		}
	}
	if n := b.get(at + "&period=today").find(".chart").Length(); n != 0 {
		t.Errorf("a single day has %d charts", n)
	}
}

// Amounts of different currencies are not added: each has its total and its chart.
func TestOverview_of_two_currencies(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	f.testInvoices.settle(f.testInvoices.sell(shop, "1", "40.00"), "0.0005")
	f.clock.Advance(time.Second)
	dollar, _ := money.Fiat("USD")
	inv, err := f.testInvoices.Create(t.Context(), invoice.CreateRequest{
		MerchantID: shop, Mode: invoice.Test, Wallets: f.testInvoices.wallets, ExpiresIn: 15 * time.Minute,
		Terms: invoice.Terms{Price: money.MustParse("43.20", dollar), Rules: invoice.DefaultRules(dollar)},
	})
	f.must(err)
	f.testInvoices.settle(inv, "0.0005")
	page := b.get("/desk/shop?mode=test").want(http.StatusOK, "Received per day, EUR")
	if got, want := page.totals(), "Received €40.00 €0.00 in the period before $43.20 $0.00 in the period before Payments 2"; !strings.HasPrefix(got, want) {
		t.Errorf("the totals are %q, want %q", got, want)
	}
	if n := page.find(".chart svg").Length(); n != 2 {
		t.Errorf("there are %d charts, want 2", n)
	}
}

// The first steps are done by facts, and are not shown once the shop has a live payment.
func TestOverview_of_a_new_shop(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	done := func() string {
		t.Helper()
		return textOf(b.get("/desk/shop").want(http.StatusOK, "First steps").find(".todo li:has(.i)"))
	}
	if got := done(); got != "" {
		t.Errorf("a new shop has done %q", got)
	}
	s := f.testInvoices
	s.settle(s.sell(shop, "1", "40.00"), "0.0005")
	if got, want := done(), "Test payment , done Show test payments Test payment"; got != want {
		t.Errorf("after a test payment, done is %q, want %q", got, want)
	}
	w := s.wallets[0]
	f.must(f.storage.CreateWallet(t.Context(), merchant.Wallet{ID: "w", MerchantID: shop, Mode: merchant.Live, Asset: w.Asset, Key: w.Key, Counter: w.Counter, CreatedAt: f.clock.Now()}))
	f.clock.Advance(time.Minute) // lists of wallets are cached
	s.step()
	if got, want := done(), "Wallet for live payments , done A payment method that can be offered now , done Test payment , done Show test payments Test payment"; got != want {
		t.Errorf("with a wallet, done is %q, want %q", got, want)
	}
	f.addProduct("soap", "Olive soap", "8.00")
	if got, want := done(), "Something to sell with , done"; !strings.Contains(got, want) {
		t.Errorf("with a product, done is %q, want %q", got, want)
	}
	s.quote("LTC-EUR=80,EUR-USD=1.08")
	b.get("/desk/shop").want(http.StatusOK, "There is no rate for your wallets’ assets now.")
	s.quote("BTC-EUR=80000,EUR-USD=1.08")
	if n := b.get("/desk/shop").find(".kpi").Length(); n != 0 {
		t.Errorf("a new shop has %d totals", n)
	}
	b.get("/desk/shop?mode=test").want(http.StatusOK, "Received €40.00")
	bookkeeper := f.as("Runa", account.Bookkeeper)
	if page := bookkeeper.get("/desk/shop").want(http.StatusOK, "No payments in this period."); page.find(".todo, .list").Length() != 0 {
		t.Errorf("the overview of a bookkeeper has steps or cases: %s", page.text())
	}
	s.mode = invoice.Live
	s.settle(s.sell(shop, "2", "40.00"), "0.0005")
	if page := b.get("/desk/shop").want(http.StatusOK, "Received €40.00"); page.find(".todo").Length() != 0 {
		t.Errorf("the overview after a live payment has first steps: %s", page.text())
	}
}

// An account that may not see totals is led to its own page.
func TestOverview_is_not_for_sellers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.owner()
	f.as("Jonas", account.Seller).get("/desk/shop").wantRedirect("/desk/shop/own")
}

// The pages of a live product and of a live link, which exist in one mode, state in a demo that there are test payments only.
func TestPages_of_one_mode_in_a_demo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	owner := f.owner()
	f.addProduct("mug", "Mug", "12.00")
	f.addLink("tea", nil)
	const note = "This is the demo, which accepts test payments only."
	for _, path := range []string{"/desk/shop/products/mug/edit", "/desk/shop/links/tea/edit", "/desk/shop/links/tea/remove"} {
		for _, f.demo = range []bool{false, true} {
			page := owner.get(path)
			if text := textOf(page.find(".note")); strings.Contains(text, note) != f.demo || page.find(".note.warn a").Length() != 0 {
				t.Errorf("%s, demo %t: status %d, the notes are %q", path, f.demo, page.status, text)
			}
		}
	}
}

// In the live mode of a demo, what a merchant creates cannot be paid, so the pages lead to test mode.
func TestMode_of_a_demo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	owner := f.owner()
	const note = "This is the demo, which accepts test payments only."
	paths := []string{"", "/attention", "/payments", "/refunds", "/products", "/products/new", "/links", "/links/new", "/terminals", "/reports"}
	for _, path := range paths {
		if text := textOf(owner.get("/desk/shop" + path).find(".note")); strings.Contains(text, note) {
			t.Errorf("%s of a shop that is no demo: %q", path, text)
		}
	}
	f.demo = true
	for _, path := range paths {
		link := owner.get("/desk/shop"+path).want(http.StatusOK, note).find(".note a")
		address, _ := link.Attr("href")
		if !strings.HasPrefix(address, "/desk/shop"+path+"?") || !strings.Contains(address, "mode=test") {
			t.Errorf("%s: the note leads to %q", path, address)
		}
		if text := textOf(owner.get(address).find(".note")); strings.Contains(text, note) {
			t.Errorf("%s in test mode: %q", path, text)
		}
	}
	if start := owner.get("/desk/shop").find(`.todo a[href="/desk/shop/products?mode=test"]`); textOf(start) == "" {
		t.Error("the first steps do not lead to the products in test mode")
	}
}
