package desk_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/web/desk"
)

// Nothing is removed unless the shop chooses a period; a shorter one needs a confirmed sign-in, a longer one does not.
func TestRetention_needs_a_confirmation_for_a_shorter_period(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.ownerByPassword()
	f.clock.Advance(11 * time.Minute)
	page := b.get(settingsPath).want(http.StatusOK, "Remove after 24 months (proposed)")
	if got := page.find("#personal_data_months option[selected]").AttrOr("value", ""); got != "off" {
		t.Errorf("the period is %q, want off", got)
	}
	b.post(settingsPath, with(page.entered(), "personal_data_months", "24")...).want(http.StatusForbidden, "Confirm it’s you")
	choose := func(period string) {
		t.Helper()
		_, err := f.settings.Change(t.Context(), shop, "", merchant.Choices{merchant.SettingPersonalData: period})
		f.must(err)
	}
	choose("7")
	page = b.get(settingsPath).want(http.StatusOK, "Remove after 7 months")
	if got := page.find("#personal_data_months option[selected]").AttrOr("value", ""); got != "7" {
		t.Errorf("the period is %q, want 7", got)
	}
	b.post(settingsPath, with(page.entered(), "personal_data_months", "6")...).want(http.StatusForbidden, "Confirm it’s you")
	b.post(settingsPath, with(page.entered(), "personal_data_months", "2")...).want(http.StatusUnprocessableEntity, "must be off, or a whole number of months from 3 to 600")
	b.post(settingsPath, with(page.entered(), "personal_data_months", "24")...).wantRedirect(settingsPath + "?done=payment-settings")
	b.post(settingsPath, with(b.get(settingsPath).entered(), "personal_data_months", "off")...).wantRedirect(settingsPath + "?done=payment-settings")
	if got := f.choices(); len(got) != 0 {
		t.Errorf("the choices are %q, want none", got)
	}
	b.get("/desk/shop/log").want(http.StatusOK, "personal data months: 7 → 24")
}

// The payment settings state how long the data that shop plug-ins send are kept.
func TestRetention_states_the_period_of_plugin_data(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	for days, want := range map[int]string{
		180: "What shop plug-ins send about buyers is removed 180 days after the end of the invoice",
		0:   "CHEQUER_PERSONAL_DATA_DAYS is off",
	} {
		f.config.PluginDays = days
		f.desk = desk.New(f.config)
		b.get(settingsPath).want(http.StatusOK, want)
	}
}

// The page of an invoice states what was removed, and still takes notes.
func TestPayment_without_personal_data(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	inv := f.testInvoices.sell(shop, "1042", "80.00")
	f.testInvoices.settle(inv, "0.001")
	at := "/desk/shop/payments/" + inv.ID
	b.send(at+"/notes", "note", "Jane called").wantRedirect(at + "?done=note-added")
	_, err := f.storage.UpdateInvoice(t.Context(), inv.ID, invoice.Lease{}, func(inv *invoice.Invoice) error {
		inv.RefundAddress = invoice.RefundAddress{Asset: "BTC", Address: "tb1qjane", By: "shopper"}
		return nil
	})
	f.must(err)
	b.get(at).want(http.StatusOK, "Jane called").want(http.StatusOK, "tb1qjane")
	_, err = f.settings.Change(t.Context(), shop, "", merchant.Choices{merchant.SettingPersonalData: "3"})
	f.must(err)
	f.testInvoices.expire()
	late := f.clock.Now().AddDate(1, 0, 0)
	for {
		done, err := f.storage.RemovePersonalData(t.Context(), shop, late)
		f.must(err)
		if done {
			break
		}
	}
	page := b.get(at).want(http.StatusOK, "Refund addresses Removed 27 Nov 2027").want(http.StatusOK, "Notes Removed 27 Nov 2027")
	for _, gone := range []string{"Jane", "tb1qjane", "Refund address "} {
		if strings.Contains(page.text(), gone) {
			t.Errorf("the page has %q: %s", gone, page.text())
		}
	}
	b.get("/desk/shop/log").want(http.StatusOK, "Personal data removed: shop")
	b.send(at+"/notes", "note", "Asked again").wantRedirect(at + "?done=note-added")
	b.get(at).want(http.StatusOK, "Asked again")
}

// The books are kept unless the shop chooses a period, with a confirmed sign-in. The form says what would be removed. Reports
// and exports say that invoices were removed.
func TestRetention_books(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.ownerByPassword()
	inv := f.testInvoices.sell(shop, "1042", "80.00")
	f.testInvoices.settle(inv, "0.001")
	f.clock.Advance(11 * time.Minute)
	page := b.get(settingsPath).want(http.StatusOK, "Remove after 10 years (proposed)").
		want(http.StatusOK, "With 10 years, the next run would remove at most 0 invoices, all created before 1 Jan 2016. This cannot be undone.")
	if got := page.find("#book_years option[selected]").AttrOr("value", ""); got != "off" {
		t.Errorf("the period is %q, want off", got)
	}
	b.post(settingsPath, with(page.entered(), "book_years", "10")...).want(http.StatusForbidden, "Confirm it’s you")
	_, err := f.settings.Change(t.Context(), shop, "", merchant.Choices{merchant.SettingBooks: "10"})
	f.must(err)
	b.get(settingsPath).want(http.StatusOK, "The next run removes at most 0 invoices")
	f.testInvoices.expire()
	late := time.Date(2037, 2, 1, 12, 0, 0, 0, time.UTC)
	for done := false; !done; {
		done, err = f.storage.RemoveBooks(t.Context(), shop, late)
		f.must(err)
	}
	const reports = "/desk/shop/reports?mode=test&period=days&from=2026-11-01&to="
	b.get("/desk/shop/payments/"+inv.ID).want(http.StatusNotFound, "")
	b.get(reports+"2026-11-30").want(http.StatusOK, "The invoices of this period were removed from the books.").
		want(http.StatusOK, "The invoices before 1 Jan 2027 were removed from the books on 1 Feb 2037.")
	b.get(reports+"2027-01-02").want(http.StatusOK, "The invoices before 1 Jan 2027 were removed from the books on 1 Feb 2037.")
	b.get("/desk/shop/reports/export?format=csv&mode=test&period=days&from=2026-12-31&to=2027-01-02").want(http.StatusGone, "were removed from the books on 1 Feb 2037")
	b.get("/desk/shop/log").want(http.StatusOK, "Books removed: shop")
}
