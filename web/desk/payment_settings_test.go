package desk_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/account"
	"chequer/internal/chain/simnet"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
)

const settingsPath = "/desk/shop/payment-settings"

// choices returns the choices of the shop.
func (f *fixture) choices() merchant.Choices {
	f.t.Helper()
	c, err := f.settings.Chosen(f.t.Context(), shop)
	f.must(err)
	return c
}

// entered returns the fields of the form for the payment settings, as a browser sends them.
func (p page) entered() (pairs []string) {
	p.t.Helper()
	p.find(`form[action$="/payment-settings"]`).Find("input, select, textarea").Each(func(_ int, s *selection) {
		value := s.AttrOr("value", "")
		switch s.Nodes[0].Data {
		case "textarea":
			value = s.Text()
		case "select":
			value = s.Find("option[selected]").AttrOr("value", "")
		}
		if _, checked := s.Attr("checked"); s.AttrOr("type", "") != "checkbox" || checked {
			pairs = append(pairs, s.AttrOr("name", ""), value)
		}
	})
	return pairs
}

// keepOnly returns fields in which the field name has only the given values; without values it is absent.
func keepOnly(fields []string, name string, values ...string) (rest []string) {
	for i := 0; i < len(fields); i += 2 {
		if fields[i] != name || strings.Contains(strings.Join(values, " "), fields[i+1]) {
			rest = append(rest, fields[i], fields[i+1])
		}
	}
	return rest
}

func TestPaymentSettings_are_saved_as_entered(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	shown := b.get("/desk/shop/theme").want(http.StatusOK)
	if href := shown.find(`.tabs a[href$="/payment-settings"]`).AttrOr("href", ""); href != settingsPath {
		t.Errorf("the tab leads to %q", href)
	}
	fields := b.get(settingsPath).want(http.StatusOK, "Payment methods", "Tolerance", "Storefront").entered()
	b.post(settingsPath, fields...).wantRedirect(settingsPath + "?done=payment-settings")
	if got := f.choices(); len(got) != 0 {
		t.Errorf("the unchanged form chose %q", got)
	}
	actions := len(f.actions())
	changed := with(fields, "quote_minutes", "30", "tolerance_percent", "0.50", "late_payments", "worth", "confirmations", "more", "storefront", "on", "method-LTC", "1", "method-BTC", "2")
	b.post(settingsPath, keepOnly(changed, "languages", "de", "en")...).wantRedirect(settingsPath + "?done=payment-settings")
	want := merchant.Choices{
		"quote_minutes": "30", "tolerance_percent": "0.5", "late_payments": "worth", "confirmations": "more", "storefront": "on",
		"payment_methods": "LTC BTC", "languages": "de en",
	}
	if diff := cmp.Diff(want, f.choices()); diff != "" {
		t.Errorf("choices (-want +got):\n%s", diff)
	}
	if got := f.actions()[actions:]; !cmp.Equal(got, []string{"Maren: shop.changed"}) {
		t.Errorf("the audit log has %q, want one change of the shop by Maren", got)
	}
	again := b.get(settingsPath+"?done=payment-settings").want(http.StatusOK, "The payment settings were saved.").entered()
	if diff := cmp.Diff(withoutToken(keepOnly(keepOnly(changed, "languages", "de", "en"), "version")), withoutToken(with(keepOnly(again, "version"), "tolerance_percent", "0.50"))); diff != "" {
		t.Errorf("the form shows (-want +got):\n%s", diff)
	}
}

// A value that breaks a rule is refused at its field, and all entered values are kept.
func TestPaymentSettings_refuses_a_value(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	fields := b.get(settingsPath).entered()
	for _, tt := range []struct{ field, value, fault string }{
		{"quote_minutes", "61", "Minutes for which a price is held must be a whole number from 1 to 60."},
		{"tolerance_percent", "21", "Percent of the price must be a percentage from 0 to 20"},
		{"tolerance_amount", "much", "Amount in euro must be an amount of euro"},
		{"short_amount", "-1", "Limit in euro must be an amount of euro"},
		{"late_payments", "never", "Late payments must be one of decide, worth, accept."},
		{"storefront", "maybe", "Storefront must be one of on, off."},
		{"lightning_least", "0", "Smallest amount (satoshis) must be a whole number from 1 to 100000000."},
		{"lightning_most", "99", "Largest amount (satoshis) must be at least 100, the smallest amount."},
	} {
		got := b.post(settingsPath, with(with(fields, "quote_minutes", "45"), tt.field, tt.value)...).want(http.StatusUnprocessableEntity, "Nothing was saved.")
		if fault := got.fault(tt.field); !strings.Contains(fault, tt.fault) {
			t.Errorf("%s=%s: the field says %q, want %q", tt.field, tt.value, fault, tt.fault)
		}
		if tt.field != "quote_minutes" && !strings.Contains(strings.Join(got.entered(), " "), "quote_minutes 45") {
			t.Errorf("%s=%s: the other values were lost", tt.field, tt.value)
		}
	}
	b.post(settingsPath, with(fields, "method-BTC", "first")...).want(http.StatusUnprocessableEntity, "Payment methods must have positions of the list.")
	if fault := b.post(settingsPath, keepOnly(fields, "languages")...).want(http.StatusUnprocessableEntity).fault("languages"); !strings.Contains(fault, "Languages must contain a language.") {
		t.Errorf("without a language the field says %q", fault)
	}
	if got := f.choices(); len(got) != 0 {
		t.Errorf("a refused form chose %q", got)
	}
}

// A form that shows settings of an earlier revision is refused, and shows both values.
func TestPaymentSettings_changed_meanwhile(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	fields := b.get(settingsPath).entered()
	_, err := f.settings.Change(t.Context(), shop, "", merchant.Choices{"quote_minutes": "45"})
	f.must(err)
	got := b.post(settingsPath, with(fields, "quote_minutes", "30")...).want(http.StatusConflict, "It was changed after you opened the page.")
	if fault := got.fault("quote_minutes"); !strings.Contains(fault, "Stored meanwhile: 45") || !strings.Contains(strings.Join(got.entered(), " "), "quote_minutes 30") {
		t.Errorf("the field says %q", fault)
	}
	if n := got.find(".err").Length(); n != 1 {
		t.Errorf("%d fields have an error, want 1", n)
	}
	b.post(settingsPath, got.entered()...).wantRedirect(settingsPath + "?done=payment-settings")
	if got := f.choices()["quote_minutes"]; got != "30" {
		t.Errorf("got %q minutes", got)
	}
}

// A change that relaxes a rule needs a confirmed sign-in, and continues after it with all fields.
func TestPaymentSettings_need_a_confirmation_to_relax_a_rule(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.ownerByPassword()
	f.clock.Advance(11 * time.Minute)
	fields := b.get(settingsPath).entered()
	b.post(settingsPath, with(fields, "quote_minutes", "30")...).wantRedirect(settingsPath + "?done=payment-settings")
	fields = with(b.get(settingsPath).entered(), "tolerance_amount", "1,50", "method-BTC", "1")
	ask := b.post(settingsPath, fields...).want(http.StatusForbidden, "Confirm it’s you")
	if got := f.choices(); len(got) != 1 {
		t.Fatalf("without a confirmation the choices are %q, want the one before", got)
	}
	kept := ask.confirmFields()
	answer := b.post("/desk/shop/confirm", append(kept, "confirm-password", password, "confirm-code", f.code("Maren"))...)
	if answer.status != http.StatusTemporaryRedirect || answer.header.Get("Location") != settingsPath {
		t.Fatalf("the confirmation answers %d to %q", answer.status, answer.header.Get("Location"))
	}
	b.post(settingsPath, kept...).wantRedirect(settingsPath + "?done=payment-settings")
	want := merchant.Choices{"quote_minutes": "30", "tolerance_amount": "1.5", "payment_methods": "BTC"}
	if diff := cmp.Diff(want, f.choices()); diff != "" {
		t.Errorf("choices (-want +got):\n%s", diff)
	}
}

// A setting of the environment is shown, and cannot be changed.
func TestPaymentSettings_of_the_environment(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.settings.Overrides[merchant.SettingStorefront] = merchant.Override{Value: "off", By: "CHEQUER_STOREFRONT"}
	f.settings.Overrides[merchant.SettingLanguages] = merchant.Override{Value: "de,en", By: "CHEQUER_LANGUAGES"}
	f.settings.Overrides[merchant.SettingToleranceAmount] = merchant.Override{Value: "0.10", By: "CHEQUER_TOLERANCE_AMOUNT"}
	b := f.owner()
	p := b.get(settingsPath).want(http.StatusOK, "Set by CHEQUER_STOREFRONT", "Set by CHEQUER_LANGUAGES", "Set by CHEQUER_TOLERANCE_AMOUNT")
	for _, name := range []string{"storefront", "languages", "tolerance_amount"} {
		if p.find("[name="+name+"]").Length() != 0 {
			t.Errorf("the form has a field %s", name)
		}
	}
	b.post(settingsPath, append(p.entered(), "storefront", "on", "tolerance_amount", "9")...).wantRedirect(settingsPath + "?done=payment-settings")
	if got := f.choices(); len(got) != 0 {
		t.Errorf("got %q", got)
	}
}

// The limit of the shop decides which acceptance needs a confirmed sign-in.
func TestDecision_limit_of_the_shop(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	_, err := f.settings.Change(t.Context(), shop, "", merchant.Choices{"short_percent": "10", "short_amount": "8"})
	f.must(err)
	inv := f.testInvoices.lateInvoice("1047", "0.0009") // 72 of 80 euro
	at := "/desk/shop/payments/" + inv.ID
	f.clock.Advance(11 * time.Minute)
	version := b.get(at+"/accept").want(http.StatusOK, "You waive €8.00.").version()
	_, err = f.settings.Change(t.Context(), shop, "", merchant.Choices{"short_amount": "7.99"})
	f.must(err)
	b.send(at+"/accept", "version", version).want(http.StatusForbidden, "Confirm it’s you")
	_, err = f.settings.Change(t.Context(), shop, "", merchant.Choices{"short_amount": "8"})
	f.must(err)
	b.send(at+"/accept", "version", version).wantRedirect(at + "?done=accepted")
}

// Each shop has its own storefront and languages.
func TestPaymentSettings_of_another_shop(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.owner()
	link, err := f.accounts.Invite(t.Context(), map[string]account.Role{"other": account.Manager})
	f.must(err)
	b := f.browser()
	offer, response := b.ceremony("/desk/start/passkey/options", b.key.create, "token", link.Token, "name", "Jonas")
	b.post("/desk/start/passkey", "token", link.Token, "name", "Jonas", "offer", offer, "credential", response).wantRedirect("/desk/other?done=joined")
	const address = "/desk/other/payment-settings"
	fields := with(b.get(address).want(http.StatusOK, "Tolerance", "Storefront").entered(), "storefront", "on")
	b.post(address, keepOnly(fields, "languages", "de", "en")...).wantRedirect(address + "?done=payment-settings")
	other, err := f.storage.Merchant(t.Context(), "other")
	if diff := cmp.Diff(merchant.Choices{"storefront": "on", "languages": "de en"}, other.Choices); err != nil || diff != "" {
		t.Errorf("error %v, choices of the other shop (-want +got):\n%s", err, diff)
	}
	if got := f.choices(); len(got) != 0 {
		t.Errorf("the first shop has the choices %q", got)
	}
}

// The table of confirmations shows what the setting requires.
func TestPaymentSettings_show_the_required_confirmations(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	cells := func() (all []string) {
		t.Helper()
		b.get(settingsPath).find("main tbody tr").First().Find("td").Each(func(_ int, s *selection) { all = append(all, textOf(s)) })
		return all
	}
	for _, tt := range []struct{ setting, want string }{{"", "1 about 10 min 2 about 20 min 6 about 60 min 12 about 2 h"}, {"more", "2 about 20 min 6 about 60 min 12 about 2 h 12 about 2 h"},
		{"most", "12 about 2 h 12 about 2 h 12 about 2 h 12 about 2 h"}} {
		_, err := f.settings.Change(t.Context(), shop, "", merchant.Choices{"confirmations": tt.setting})
		f.must(err)
		if got := strings.Join(cells(), " "); got != tt.want {
			t.Errorf("%q requires %s, want %s", tt.setting, got, tt.want)
		}
	}
}

// A choice of payment methods without a wallet is refused, because no invoice could be created.
func TestPaymentSettings_methods_need_a_wallet(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	fields := b.get(settingsPath).entered()
	f.must(f.storage.CreateWallet(t.Context(), merchant.Wallet{ID: "wlt", MerchantID: shop, Mode: merchant.Live, Asset: "BTC", Key: "key", Counter: "key", CreatedAt: f.clock.Now()}))
	f.clock.Advance(time.Second)
	b.post(settingsPath, with(fields, "method-LTC", "1")...).want(http.StatusUnprocessableEntity, "Payment methods must contain a method for which the shop has a wallet.")
	b.post(settingsPath, with(fields, "method-LTC", "1", "method-BTC", "2")...).wantRedirect(settingsPath + "?done=payment-settings")
	if got := f.choices()["payment_methods"]; got != "LTC BTC" {
		t.Errorf("got %q", got)
	}
}

// The form shows what a tolerance would have cost.
func TestPaymentSettings_cost_of_a_tolerance(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	f.testInvoices.mode = invoice.Live
	b.get(settingsPath).want(http.StatusOK, "no invoice in euro expired because it was short by 5 % or less")
	for order, amount := range map[string]string{"1": "0.000996", "2": "0.000995", "3": "0.00097", "4": "0.0009", "5": "0.001"} { // of 80 euro
		f.testInvoices.pay(f.testInvoices.sell(shop, order, "80.00"), amount)
	}
	f.testInvoices.pay(f.testInvoices.sell("other", "6", "80.00"), "0.000996")
	f.testInvoices.sell(shop, "7", "80.00") // not paid
	f.testInvoices.expire()
	b.get(settingsPath).want(http.StatusOK, "0.5 %: 2 invoices, short by €0.72 together", "1 %: 2 invoices, short by €0.72 together", "5 %: 3 invoices, short by €3.12 together")
}

// The form shows what was waived in the last month.
func TestPaymentSettings_show_the_waived_amount_of_the_last_month(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.owner()
	s := f.testInvoices
	s.mode = invoice.Live
	_, err := f.settings.Change(t.Context(), shop, "", merchant.Choices{"tolerance_percent": "1"})
	f.must(err)
	s.settle(s.sell(shop, "1", "80.00"), "0.001")
	late := s.lateInvoice("2", "0.00099")
	_, err = s.Accept(t.Context(), late.ID, "Tove", 0)
	f.must(err)
	s.settle(s.sell("other", "3", "80.00"), "0.001")
	f.clock.Advance(5 * 24 * time.Hour) // December
	b := f.as("Tove", account.Manager)
	b.get(settingsPath).want(http.StatusOK, "Nov 2026: €0.80 of the prices of 2 paid invoices was not received.")
	f.clock.Advance(31 * 24 * time.Hour)
	b = f.as("Tore", account.Manager)
	b.get(settingsPath).want(http.StatusOK, "Dec 2026: every paid invoice was paid in full.")
}

// A payment links its transactions and addresses to the explorers that the shop chose. By default there are none.
func TestPaymentSettings_link_to_the_chosen_explorers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	s := f.testInvoices
	inv := s.sell(shop, "1047", "80.00")
	s.pay(inv, "0.001")
	at := "/desk/shop/payments/" + inv.ID
	links := func() (all []string) {
		t.Helper()
		b.get(at).want(http.StatusOK, "€80.00").find(`a[href^="https:"]`).Each(func(_ int, a *selection) {
			if rel := a.AttrOr("rel", ""); rel != "noreferrer noopener" {
				t.Errorf("a link to another site has rel %q", rel)
			}
			all = append(all, a.AttrOr("href", ""))
		})
		return all
	}
	if got := links(); len(got) != 0 {
		t.Errorf("without a choice the page links to %q", got)
	}
	fields := b.get(settingsPath).entered()
	for text, fault := range map[string]string{
		"simnet=http://a.example/{tx}":   "does not begin with https:// and a host",
		"doge=https://a.example/{tx}":    "must not contain doge; the networks are base, bitcoin, simnet",
		"simnet=https://a.example/{txt}": "must contain exactly one placeholder, {tx} or {address}",
	} {
		b.post(settingsPath, with(fields, "explorers", text)...).want(http.StatusUnprocessableEntity, fault).want(http.StatusUnprocessableEntity, text)
	}
	b.post(settingsPath, with(fields, "explorers", " simnet=https://a.example/tx/{tx}\r\nsimnet=https://b.example/?a={address}\r\n")...).wantRedirect(settingsPath + "?done=payment-settings")
	if got, want := f.choices()["explorers"], "simnet=https://a.example/tx/{tx} simnet=https://b.example/?a={address}"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := b.get(settingsPath).find("#explorers").Text(); strings.Count(got, "\n") != 1 {
		t.Errorf("the field shows %q, want two lines", got)
	}
	p := s.reload(inv).Transfers[0]
	m, _ := inv.Method(simnet.ID, "BTC")
	if got, want := links(), []string{"https://a.example/tx/" + p.Tx, "https://b.example/?a=" + m.Destination.Address}; !slices.Equal(got, want) {
		t.Errorf("the page links to %q, want %q", got, want)
	}
	b.get(at).want(http.StatusOK, "An explorer learns what you open there.")
	b.get("/desk/shop/log").want(http.StatusOK, "simnet=https://a.example/tx/{tx}")
}

// The zero-confirmation cap has no effect without a node, and a higher one needs a confirmed sign-in.
func TestPaymentSettings_zero_confirmation(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.ownerByPassword()
	f.clock.Advance(11 * time.Minute)
	page := b.get(settingsPath).want(http.StatusOK, "You may lose it: the payer can still send the same coins elsewhere until the first block.")
	if got := page.find("#zero_confirmation_btc").AttrOr("value", ""); got != "0" {
		t.Errorf("the cap is %q, want 0", got)
	}
	page.want(http.StatusOK, "the limit has no effect on this server")
	b.post(settingsPath, with(page.entered(), "zero_confirmation_btc", "20")...).want(http.StatusForbidden, "Confirm it’s you")
	b.post(settingsPath, with(page.entered(), "zero_confirmation_ltc", "501")...).want(http.StatusUnprocessableEntity, "must be an amount of euro from 0 to 500")
}
