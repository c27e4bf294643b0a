package desk_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"chequer/internal/account"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/report"
)

// terminal creates a terminal of a shop.
func (f *fixture) terminal(merchantID, name string, mode merchant.Mode) merchant.Terminal {
	f.t.Helper()
	t, err := f.terminals.Create(f.t.Context(), merchant.Terminal{MerchantID: merchantID, Mode: mode, Name: name, Currency: "EUR"})
	f.must(err)
	return t
}

// idOf returns the ID of the account with a name.
func (f *fixture) idOf(name string) string {
	f.t.Helper()
	a, err := f.accounts.Named(f.t.Context(), name)
	f.must(err)
	return a.ID
}

// assign assigns a terminal of the shop to the account with a name.
func (f *fixture) assign(t merchant.Terminal, name string) {
	f.t.Helper()
	f.must(f.terminals.Assign(f.t.Context(), shop, t.ID, f.idOf(name)))
}

// sellAt creates an invoice at a terminal.
func (s *testInvoices) sellAt(t merchant.Terminal, order, amount string) *invoice.Invoice {
	s.fixture.t.Helper()
	return s.sellFrom(invoice.Origin{Kind: invoice.FromTerminal, ID: t.ID}, t.MerchantID, order, amount)
}

// refusedPayment is the refusal of a payment that a seller must not see.
const refusedPayment = "Payments are viewed by: Owner: Maren."

// A manager assigns a terminal to a seller, who lands on it, opens it, and sees its payments of the day with their
// receipts. The end of the assignment ends all of that.
func TestOwnTerminals_work_while_they_are_assigned(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.owner()
	tove, jonas := f.as("Tove", account.Manager), f.as("Jonas", account.Seller)
	bar := f.terminal(shop, "Bar", merchant.Test)
	jonas.get("/desk/shop").wantRedirect("/desk/shop/own")
	jonas.get("/desk/shop/own").want(http.StatusOK, "No terminal is assigned to you.")

	before := len(f.actions())
	at := "/desk/shop/terminals/" + bar.ID + "/sellers"
	tove.get("/desk/shop/terminals?mode=test").want(http.StatusOK, "Sellers : Bar")
	tove.get(at).want(http.StatusOK, "Sellers of Bar", "Jonas Does not use it")
	tove.send(at, "account", f.idOf("Jonas"), "use", "yes").wantRedirect(at + "?done=assigned")
	tove.send(at, "account", f.idOf("Jonas"), "use", "yes").wantRedirect(at + "?done=assigned") // no second entry
	tove.get(at).want(http.StatusOK, "Jonas Uses it")
	tove.get("/desk/shop/terminals?mode=test").want(http.StatusOK, "1 seller")

	s := f.testInvoices
	short := s.sellAt(bar, "Table 4", "80.00")
	s.pay(short, "0.0004")
	paid := s.sellAt(bar, "Table 5", "40.00")
	tx := s.pay(paid, "0.0005")
	f.must(s.net.Confirm(t.Context(), []string{tx}))
	s.step()
	f.must(report.Complete(t.Context(), f.storage, shop))
	list := jonas.get("/desk/shop/own").want(http.StatusOK, "Bar Test 1 paid today, €40.00")
	if got, want := list.names(), "Table 5 Table 4"; got != want {
		t.Errorf("the payments are %q, want %q", got, want)
	}
	if n := list.find(`main a[href*="/desk/shop/payments"], .rail a[href*="/payments"]`).Length(); n != 0 {
		t.Errorf("the page has %d links to places that refuse a seller", n)
	}
	if got := list.find("main").AttrOr("data-stream", ""); !strings.HasPrefix(got, "/desk/shop/live?seen=") {
		t.Errorf("the stream is %q, want it to begin with /desk/shop/live?seen=", got)
	}

	own := "/desk/shop/own/payments/"
	page := jonas.get(own+paid.ID).want(http.StatusOK, "€40.00 Paid Order Table 5", "Bitcoin")
	if got, want := page.find(".sum .bs a").Last().AttrOr("href", ""), "/invoice/"+paid.ID+"/receipt.pdf"; got != want {
		t.Errorf("the receipt is %q, want %q", got, want)
	}
	page = jonas.get(own+short.ID).want(http.StatusOK, "€80.00", "€48.00 short")
	if n := page.find("main form, main a[href$='/receipt.pdf']").Length(); n != 0 {
		t.Errorf("the page of a payment that is short has %d forms and receipts", n)
	}

	jonas.get("/desk/shop/own?q=Table+4").wantRedirect(own + short.ID)
	jonas.get("/desk/shop/own?q=" + tx).wantRedirect(own + paid.ID)
	jonas.get("/desk/shop/own?q=" + paid.ID).wantRedirect(own + paid.ID)
	jonas.get("/desk/shop/own?q=your+account").wantRedirect("/desk/shop/account")
	jonas.get("/desk/shop/own?q=Table").want(http.StatusOK, "No payment of today at your terminals was found.")

	opened := jonas.send("/desk/shop/own/" + bar.ID + "/open")
	secret, ok := strings.CutPrefix(opened.header.Get("Location"), "/pos/")
	if !ok || opened.status != http.StatusSeeOther || secret == bar.Secret {
		t.Fatalf("the terminal opens with %d at %q, want 303 to an address of the seller below /pos/", opened.status, opened.header.Get("Location"))
	}
	found, err := f.terminals.Find(t.Context(), secret)
	if err != nil || found.ID != bar.ID {
		t.Fatalf("the address of the seller is that of %+v, error %v", found, err)
	}
	if strings.Contains(list.body, secret) || strings.Contains(f.log.String(), secret) {
		t.Error("the list or the log has the secret")
	}

	tove.send(at, "account", f.idOf("Jonas"), "use", "no").wantRedirect(at + "?done=unassigned")
	tove.send(at, "account", f.idOf("Jonas"), "use", "no").want(http.StatusNotFound, "Not found")
	if got, want := f.actions()[before:], []string{"Tove: terminal.assigned", "Tove: terminal.unassigned"}; !slices.Equal(got, want) {
		t.Errorf("the audit log has %q, want %q", got, want)
	}
	jonas.get(own+paid.ID).want(http.StatusForbidden, "Payments are viewed by: Owner: Maren; Manager: Tove.")
	jonas.send("/desk/shop/own/"+bar.ID+"/open").want(http.StatusForbidden, "terminals are managed by: Owner: Maren; Manager: Tove.")
	if _, err := f.terminals.Find(t.Context(), secret); err == nil {
		t.Error("the address of the seller works after the end of the assignment")
	}
	if _, err := f.terminals.Find(t.Context(), bar.Secret); err != nil {
		t.Errorf("the address of the terminal stopped working: %v", err)
	}
}

// A seller sees no payment of another terminal, another day, another origin or another shop, by no page and no search.
func TestOwnTerminals_hide_payments_of_other_terminals_and_days(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.owner()
	jonas := f.as("Jonas", account.Seller)
	bar, door, foreign := f.terminal(shop, "Bar", merchant.Test), f.terminal(shop, "Door", merchant.Test), f.terminal("other", "Stall", merchant.Test)
	f.assign(bar, "Jonas")
	s := f.testInvoices
	old := s.sellAt(bar, "1001", "40.00")
	f.clock.Advance(11*time.Hour + 58*time.Minute) // one second before midnight in UTC, the zone of the books
	late := s.sellAt(bar, "1002", "40.00")
	jonas.get("/desk/shop/own/payments/"+late.ID).want(http.StatusOK, "€40.00")
	f.clock.Advance(2 * time.Minute)
	own := s.sellAt(bar, "1003", "41.00")
	other := s.sellAt(door, "1004", "42.00")
	link := s.sell(shop, "1005", "43.00")
	abroad := s.sellAt(foreign, "1006", "44.00")
	if got := jonas.get("/desk/shop/own").want(http.StatusOK).names(); got != "1003" {
		t.Errorf("the payments are %q, want 1003", got)
	}
	for name, inv := range map[string]*invoice.Invoice{"yesterday": old, "yesterday, late": late, "another terminal": other, "a link": link} {
		jonas.get("/desk/shop/own/payments/"+inv.ID).want(http.StatusForbidden, refusedPayment)
		for _, text := range []string{inv.ID, inv.Terms.OrderID} {
			if got := jonas.get("/desk/shop/own?q="+text).want(http.StatusOK, "No payment of today at your terminals was found.").names(); got != "" {
				t.Errorf("%s: the search for %s finds %q", name, text, got)
			}
		}
		jonas.get("/desk/shop/payments/"+inv.ID).want(http.StatusForbidden, refusedPayment)
		jonas.send("/desk/shop/payments/"+inv.ID+"/accept").want(http.StatusForbidden, "Decisions about payments are made by: Owner: Maren.")
	}
	jonas.get("/desk/shop/own/payments/"+abroad.ID).want(http.StatusNotFound, "Not found")
	jonas.get("/desk/shop/own/payments/"+own.ID).want(http.StatusOK, "€41.00")
	jonas.send("/desk/shop/own/payments/"+own.ID).want(http.StatusMethodNotAllowed, "Not found")
	if got := jonas.get("/desk/shop/own?q=42.00").want(http.StatusOK, "No payment").names(); got != "" {
		t.Errorf("the search for the amount of another terminal finds %q", got)
	}

	jonas.send("/desk/shop/own/"+door.ID+"/open").want(http.StatusForbidden, "terminals are managed by: Owner: Maren.")
	jonas.send("/desk/shop/own/"+foreign.ID+"/open").want(http.StatusNotFound, "Not found")
	maren := f.as("Runa", account.Owner)
	for _, id := range []string{f.idOf("Maren"), "acc_unknown", ""} { // no seller
		maren.send("/desk/shop/terminals/"+bar.ID+"/sellers", "account", id, "use", "yes").want(http.StatusNotFound, "Not found")
	}
	maren.send("/desk/shop/terminals/"+foreign.ID+"/sellers", "account", f.idOf("Jonas"), "use", "yes").want(http.StatusNotFound, "Not found")
}

// The removal of the terminal, of the role and of the account end the access with the assignment.
func TestOwnTerminals_end_with_terminal_role_or_account(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	maren := f.owner()
	f.as("Tove", account.Manager)
	for i, end := range []struct {
		name string
		do   func(t merchant.Terminal, seller string)
	}{
		{"terminal removed", func(t merchant.Terminal, _ string) {
			maren.send("/desk/shop/terminals/" + t.ID + "/remove").wantRedirect("/desk/shop/terminals?mode=test&done=terminal-removed")
		}},
		{"role changed", func(_ merchant.Terminal, seller string) {
			maren.send("/desk/shop/accounts/"+f.idOf(seller)+"/role", "role", "bookkeeper").wantRedirect("/desk/shop/accounts?done=role")
		}},
		{"account removed", func(_ merchant.Terminal, seller string) {
			maren.send("/desk/shop/accounts/" + f.idOf(seller) + "/remove").wantRedirect("/desk/shop/accounts?done=gone")
		}},
	} {
		seller := fmt.Sprintf("Seller %d", i)
		b, terminal := f.as(seller, account.Seller), f.terminal(shop, end.name, merchant.Test)
		f.assign(terminal, seller)
		sold := f.testInvoices.sellAt(terminal, "1001", "40.00")
		secret := strings.TrimPrefix(b.send("/desk/shop/own/"+terminal.ID+"/open").header.Get("Location"), "/pos/")
		if _, err := f.terminals.Find(t.Context(), secret); err != nil {
			t.Fatalf("%s: before the end: %v", end.name, err)
		}
		end.do(terminal, seller)
		if _, err := f.terminals.Find(t.Context(), secret); err == nil {
			t.Errorf("%s: the address of the seller still works", end.name)
		}
		if got := b.get("/desk/shop/own/payments/" + sold.ID); got.status == http.StatusOK {
			t.Errorf("%s: the payment is still shown", end.name)
		}
		if all, err := f.terminals.Assignments(t.Context(), shop); err != nil || len(all) != 0 {
			t.Errorf("%s: the assignments are %+v, error %v", end.name, all, err)
		}
	}
}

// The payments of several terminals are one list, newest first, in pages.
func TestOwnTerminals_list_payments_newest_first_in_pages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.owner()
	jonas := f.as("Jonas", account.Seller)
	terminals := []merchant.Terminal{f.terminal(shop, "Bar", merchant.Test), f.terminal(shop, "Door", merchant.Test)}
	var want []string
	for i := range 60 {
		order := fmt.Sprint(1000 + i)
		f.testInvoices.sellAt(terminals[min(i%3, 1)], order, "40.00")
		want = append([]string{order}, want...)
	}
	for _, terminal := range terminals {
		f.assign(terminal, "Jonas")
	}
	var got []string
	for address, pages := "/desk/shop/own", 1; address != ""; pages++ {
		page := jonas.get(address).want(http.StatusOK, "Bar", "Door")
		got = append(got, strings.Fields(page.names())...)
		address = page.find(`.pager a, a[href*="after="]`).AttrOr("href", "")
		if pages > 4 {
			t.Fatal("the list does not end")
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the list is %q, want %q", got, want)
	}
}
