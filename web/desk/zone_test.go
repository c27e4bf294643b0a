package desk_test

import (
	"encoding/csv"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"chequer/internal/account"
	"chequer/internal/merchant"
)

// inZone sets the time zone of a shop.
func (f *fixture) inZone(shopID, name string) {
	f.t.Helper()
	_, err := f.settings.Change(f.t.Context(), shopID, "", merchant.Choices{merchant.SettingTimeZone: name})
	f.must(err)
}

// A payment at 23:30 UTC is one of the next day in Berlin: in the overview, the list, the reports and the export.
func TestZone_of_the_shop(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.owner()
	f.clock.Advance(11*time.Hour + 30*time.Minute) // 27 November, 23:30 UTC
	inv := f.testInvoices.sell(shop, "1", "40.00")
	f.testInvoices.settle(inv, "0.0005")
	f.clock.Advance(10 * time.Hour) // 28 November, 9:30 UTC
	b := f.as("Tove", account.Manager)

	zones := []struct{ name, shown, today, clock, dayOf, fileTime string }{
		{"UTC", "Times are in UTC.", "0", "27 Nov, 23:30", "2026-11-27", "2026-11-27T23:30"},
		{"Europe/Berlin", "Times are in Europe/Berlin (CET, UTC+01:00).", "1", "00:30", "2026-11-28", "2026-11-28T00:30"},
		{"Asia/Kathmandu", "Times are in Asia/Kathmandu (UTC+05:45).", "1", "05:15", "2026-11-28", "2026-11-28T05:15"},
	}
	for _, z := range zones {
		f.inZone(shop, z.name)
		page := b.get("/desk/shop?mode=test&period=today").want(http.StatusOK, z.shown)
		if got := page.totals(); !strings.Contains(got, "Payments "+z.today+" ") {
			t.Errorf("%s: the totals of today are %q, want %s payments", z.name, got, z.today)
		}
		if got := b.get("/desk/shop/payments?mode=test&period=today").want(http.StatusOK, z.shown).find("main tbody tr").Length(); strconv.Itoa(got) != z.today {
			t.Errorf("%s: %d payments of today, want %s", z.name, got, z.today)
		}
		if got := textOf(b.get("/desk/shop/payments?mode=test").want(http.StatusOK, z.shown).find("tbody tr")); !strings.Contains(got, " "+z.clock+" ") {
			t.Errorf("%s: the payment is %q, want the time %s", z.name, got, z.clock)
		}
		if got := b.get("/desk/shop/payments?mode=test&q=2026-11-28"); (got.status == http.StatusSeeOther) != (z.dayOf == "2026-11-28") {
			t.Errorf("%s: the search for 28 November is answered %d: %s", z.name, got.status, got.text())
		}
		b.get("/desk/shop/payments/"+inv.ID).want(http.StatusOK, z.shown)
		b.get("/desk/shop/reports?mode=test").want(http.StatusOK, z.shown, "1 Nov 2026 to 30 Nov 2026")
		for _, day := range []string{"2026-11-27", "2026-11-28"} {
			report := b.get("/desk/shop/reports?mode=test&period="+day).want(http.StatusOK, z.shown)
			if got := report.totals(); strings.Contains(got, "Payments 1 ") != (day == z.dayOf) {
				t.Errorf("%s: the totals of %s are %q, want a payment: %t", z.name, day, got, day == z.dayOf)
			}
			rows, err := csv.NewReader(strings.NewReader(b.get("/desk/shop/reports/export?mode=test&period=" + day).body)).ReadAll()
			f.must(err)
			if (len(rows) == 2) != (day == z.dayOf) || rows[0][len(rows[0])-1] != "time_zone" {
				t.Errorf("%s: the file of %s has %q, want the time zone and a payment: %t", z.name, day, rows, day == z.dayOf)
			}
			if len(rows) == 2 && (rows[1][len(rows[1])-1] != z.name || !strings.HasPrefix(rows[1][12], z.fileTime)) {
				t.Errorf("%s: the file has the time %s in %s, want %s", z.name, rows[1][12], rows[1][len(rows[1])-1], z.fileTime)
			}
		}
	}
	if got := b.get("/desk/shop/reports/export?mode=test&period=2026-11-28&format=csv").body; !strings.Contains(got, "2026-11-28T05:15:01.000+05:45") {
		t.Errorf("the file lacks the time with the offset +05:45: %s", got)
	}
}

// The days of the pages of all shops are those of each shop; their times are in UTC if the zones differ.
func TestZone_of_all_shops(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	team, err := f.accounts.Team(t.Context())
	f.must(err)
	f.must(f.accounts.ChangeRoles(t.Context(), team[0].ID, func(r map[string]account.Role) error { r["other"] = account.Manager; return nil }))
	f.inZone(shop, "Pacific/Apia")
	const own = "The days of each shop are those of its own time zone."
	for _, at := range []string{"/desk/all?mode=test", "/desk/all/reports?mode=test"} {
		b.get(at).want(http.StatusOK, own).want(http.StatusOK, "Times are in UTC.")
	}
	f.inZone("other", "Pacific/Apia")
	if page := b.get("/desk/all?mode=test").want(http.StatusOK, "Times are in Pacific/Apia (UTC+13:00)."); strings.Contains(page.text(), own) {
		t.Errorf("the page says that the shops have several time zones: %q", page.text())
	}
}

// The settings have the zone of the books; a wrong name is refused at its field.
func TestZone_is_chosen_in_the_settings(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	page := b.get("/desk/shop/payment-settings").want(http.StatusOK, "Time zone of the books")
	if got := page.find("#time_zone option[selected]").AttrOr("value", ""); got != "UTC" {
		t.Errorf("the zone is %q, want UTC", got)
	}
	if first, groups := page.find("#time_zone option").First().AttrOr("value", ""), page.find("#time_zone optgroup").Length(); first != "UTC" || groups < 8 {
		t.Errorf("the list begins with %q and has %d groups", first, groups)
	}
	form := page.entered()
	b.post("/desk/shop/payment-settings", with(form, "time_zone", "Europe/Berln")...).want(http.StatusUnprocessableEntity, `must be a time zone such as Europe/Berlin, not "Europe/Berln"`)
	b.post("/desk/shop/payment-settings", with(form, "time_zone", "Asia/Katmandu")...).wantRedirect("/desk/shop/payment-settings?done=payment-settings")
	page = b.get("/desk/shop/payment-settings").want(http.StatusOK, "Times are in Asia/Katmandu (UTC+05:45).")
	if got := page.find("#time_zone option[selected]").AttrOr("value", ""); got != "Asia/Katmandu" {
		t.Errorf("the zone is %q, want Asia/Katmandu", got)
	}
	b.get("/desk/shop/log").want(http.StatusOK, "time zone: Asia/Katmandu")
	b.post("/desk/shop/payment-settings", with(form, "time_zone", "Europe/Berlin")...).want(http.StatusConflict, "Asia/Katmandu")
}

// The second step of the first run asks for the name, the currency and the time zone of the shop, and leads to the overview.
func TestSetup_asks_for_name_and_time_zone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	const at = "/desk/shop/setup"
	page := b.get(at).want(http.StatusOK, "Your shop", "Currency", "Time zone of the books")
	if got := textOf(page.find("#currency option")); got != "EUR USD" || page.find("#currency option[selected]").Text() != "EUR" {
		t.Errorf("the currencies are %q, with %q chosen, want EUR USD, with EUR chosen", got, page.find("#currency option[selected]").Text())
	}
	if _, browser := page.find("#time_zone").Attr("data-zone"); !browser {
		t.Error("the list does not begin with the zone of the browser")
	}
	page = b.send(at, "seen", "Atelier Nord", "name", "Atelier Süd", "time_zone", "Mars/Olympus").want(http.StatusUnprocessableEntity, `must be a time zone such as Europe/Berlin, not "Mars/Olympus"`)
	if name := page.find("#name").AttrOr("value", ""); name != "Atelier Süd" || f.shopName() != "Atelier Nord" {
		t.Errorf("the form has the name %q, and the shop %q", name, f.shopName())
	}
	page = b.send(at, "seen", "Atelier Nord", "name", "Atelier Süd", "currency", "CHF", "time_zone", "Europe/Berlin").
		want(http.StatusUnprocessableEntity, "Currency must be EUR or USD; the setting CHEQUER_FIAT adds CHF")
	if faults := page.find("#currency-error, #time_zone-error"); faults.Length() != 1 || faults.AttrOr("id", "") != "currency-error" || f.shopName() != "Atelier Nord" {
		t.Errorf("%d faults, the first at %q; the shop is %q; want one at currency-error, and Atelier Nord", faults.Length(), faults.AttrOr("id", ""), f.shopName())
	}
	b.send(at, "seen", "Atelier Nord", "name", "", "currency", "USD", "time_zone", "Europe/Berlin").want(http.StatusUnprocessableEntity, "must not be empty")
	b.send(at, "seen", "Atelier", "name", "Atelier Süd", "currency", "USD", "time_zone", "Europe/Berlin").want(http.StatusConflict, "Atelier Nord")
	b.send(at, "seen", "Atelier Nord", "name", "Atelier Süd", "currency", "USD", "time_zone", "Europe/Berlin").wantRedirect("/desk/shop?done=joined")
	b.get("/desk/shop?done=joined").want(http.StatusOK, "Overview", "Your account is ready.", "Atelier Süd", "Times are in Europe/Berlin (CET, UTC+01:00).")
	for _, path := range []string{"/desk/shop/products/new", "/desk/shop/links/new", "/desk/shop/terminals/new"} {
		if got := b.get(path).find("#fiat_currency option[selected]").Text(); got != "USD" {
			t.Errorf("%s begins with the currency %q, want USD", path, got)
		}
	}
	if _, browser := b.get(at).find("#time_zone").Attr("data-zone"); browser {
		t.Error("the list begins with the zone of the browser, though one was chosen")
	}
}

func (f *fixture) shopName() string {
	f.t.Helper()
	m, err := f.storage.Merchant(f.t.Context(), shop)
	f.must(err)
	return m.Name
}
