package e2e_test

import (
	"database/sql"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"chequer/internal/app"
	"chequer/internal/config"
)

// TestDouble_click_and_going_back_make_one_invoice double-clicks the button, and goes back to send the
// form again. Both must lead to one invoice.
func TestDouble_click_and_going_back_make_one_invoice(t *testing.T) {
	for _, s := range []screen{phoneScreen, phoneScreenNoJS} {
		t.Run(s.name, func(t *testing.T) {
			c := settings(t)
			p := start(t, c, app.Options{Demo: true})
			tab := open(t, s)
			tab.visit(p.url)
			tab.do(chromedp.SendKeys(chromedp.CSS("#amount"), "12,50"))
			tab.do(chromedp.DoubleClick(chromedp.CSS("form button.btn")))
			tab.do(chromedp.WaitVisible(chromedp.CSS("#pay")))
			page := get(tab, chromedp.Location())
			if got := countInvoices(t, c); got != 1 {
				t.Errorf("a double click created %d invoices, want 1", got)
			}

			tab.do(chromedp.NavigateBack(), chromedp.WaitVisible(chromedp.CSS("#amount")))
			tab.do(chromedp.SetValue(chromedp.CSS("#amount"), "12,50"))
			tab.click("form button.btn")
			tab.do(chromedp.WaitVisible(chromedp.CSS("#pay")))
			if got := get(tab, chromedp.Location()); got != page {
				t.Errorf("sending again after going back led to %s, want %s", got, page)
			}
			if got := countInvoices(t, c); got != 1 {
				t.Errorf("after going back there are %d invoices, want 1", got)
			}

			tab.do(chromedp.NavigateBack(), chromedp.WaitVisible(chromedp.CSS("#amount")))
			tab.do(chromedp.SetValue(chromedp.CSS("#amount"), "13,00"))
			tab.click("form button.btn")
			tab.waitFor(".due .v", "€13.00", nil)
			if got := get(tab, chromedp.Location()); got == page {
				t.Error("another amount led to the same invoice")
			}
			tab.checkConsole()
		})
	}
}

// TestSame_form_token_leads_to_one_invoice sends a form several times in parallel, and once more afterwards.
func TestSame_form_token_leads_to_one_invoice(t *testing.T) {
	t.Parallel()
	c := settings(t)
	p := start(t, c, app.Options{Demo: true})
	page := readPage(t, p.url+"/", http.StatusOK)
	action := page.Find("form").AttrOr("action", "")
	form := url.Values{"amount": {"12,50"}, "token": {page.Find("input[name=token]").AttrOr("value", "")}}
	var locations sync.Map
	send := func() {
		_, to := post(t, p.url+action, form)
		locations.Store(to, true)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(send)
	}
	group.Wait()
	send()
	for to := range locations.Range {
		if !strings.HasPrefix(to.(string), "/invoice/") {
			t.Errorf("the form led to %q", to)
		}
	}
	if got := countInvoices(t, c); got != 1 {
		t.Errorf("%d invoices were created, want 1", got)
	}
}

// TestServe_has_no_form_without_storefront requests the root of a server for live payments.
func TestServe_has_no_form_without_storefront(t *testing.T) {
	live := []string{"CHEQUER_UNWATCHED=on", "CHEQUER_BITCOIN_NODE=off", "CHEQUER_RATES=fixed:BTC-EUR=86420.00,EUR-USD=1.08", "CHEQUER_SHOP_NAME=Atelier Nord"}
	p := start(t, settings(t, live...), app.Options{})
	page := readPage(t, p.url+"/", http.StatusOK)
	if got := page.Find("h1").Text(); got != "This is where payments are made" || page.Find("form").Length() > 0 {
		t.Errorf("the root shows %q, with %d forms", got, page.Find("form").Length())
	}
	if status, to := post(t, p.url+"/", url.Values{"amount": {"12,50"}}); status != http.StatusMethodNotAllowed || to != "" {
		t.Errorf("sending a form: status %d, location %q", status, to)
	}
	storefront := start(t, settings(t, append(live, "CHEQUER_STOREFRONT=on")...), app.Options{})
	if readPage(t, storefront.url+"/", http.StatusOK).Find("form").Length() != 1 {
		t.Error("CHEQUER_STOREFRONT=on shows no form")
	}
	tab := open(t, phoneScreen)
	tab.visit(p.url)
	tab.picture(phoneScreen, "no_storefront")
	tab.checkNoSidewaysScroll()
	tab.checkConsole()
}

// post sends a form, and returns the status and the location.
func post(t testing.TB, address string, form url.Values) (status int, to string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode, response.Header.Get("Location")
}

// countInvoices returns the number of invoices in the SQLite database of a program.
func countInvoices(t testing.TB, c config.Config) (count int) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(c.DatabaseURL, "sqlite:")+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM invoices").Scan(&count); err != nil {
		t.Fatal(err)
	}
	return count
}
