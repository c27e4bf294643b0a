package desk_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"chequer/internal/account"
	"chequer/internal/invoice"
)

// A snoozed case leaves the list and the count, and returns at the end of the snooze, by the undo, and when its facts
// change.
func TestSnooze_hides_a_case_until_it_ends(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.owner()
	b := f.as("Tove", account.Manager)
	f.testInvoices.mode = invoice.Live
	inv := f.testInvoices.lateInvoice("1047", "0.00099")
	f.testInvoices.lateInvoice("1048", "0.00099")
	at := "/desk/shop/payments/" + inv.ID
	state := func() string {
		t.Helper()
		page := b.get("/desk/shop/attention")
		return textOf(page.find(".places .pip")) + ", " + textOf(page.find("main .wrap > ul h2")) + ", " + textOf(page.find("#snoozed h3"))
	}
	snooze := func(days string) page {
		t.Helper()
		ask := b.get(at+"/snooze").want(http.StatusOK, "Snooze 1047?").want(http.StatusOK, "It returns by itself at the end")
		return b.send(at+"/snooze", "version", ask.version(), "days", days)
	}
	check := func(when, want string) {
		t.Helper()
		if got := state(); got != want {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	const both, hidden = "2 open, 1047: Late 1048: Late, ", "1 open, 1048: Late, 1047: Late"
	check("before", both)
	for _, days := range []string{"", "0", "2", "x", "-1"} {
		snooze(days).want(http.StatusUnprocessableEntity, "Choose one of the listed times.")
	}
	check("after refused snoozes", both)
	snooze("3").wantRedirect("/desk/shop/attention?done=snoozed")
	check("after the snooze", hidden)
	b.get("/desk/shop/attention?done=snoozed").want(http.StatusOK, "The case is snoozed.").want(http.StatusOK, "by Tove")
	b.get("/desk/all/attention").want(http.StatusOK, "Until 30 Nov").want(http.StatusOK, "Atelier Nord")
	b.get(at).want(http.StatusOK, "This case is snoozed until")
	b.get("/desk/shop").want(http.StatusOK, "1048: Late")
	f.clock.Advance(3 * 24 * time.Hour)
	b = f.as("Tore", account.Manager)
	check("after three days", both)
	snooze("1")
	check("after the second snooze", hidden)
	undo := b.get("/desk/shop/attention").find("#snoozed form").AttrOr("action", "")
	b.send(undo).wantRedirect(at + "?done=snooze-ended")
	check("after the undo", both)
	if got, want := f.actionsOf("case."), []string{"Tove: case.snoozed", "Tore: case.snoozed", "Tore: case.snooze_ended"}; !slices.Equal(got, want) {
		t.Errorf("the audit log has %q, want %q", got, want)
	}
	snooze("7")
	f.testInvoices.pay(inv, "0.0005")
	check("after another transfer", both)
	b.send(at+"/snooze", "version", "1", "days", "7").want(http.StatusConflict, "The invoice changed after you opened the page.")
	check("after a snooze of an old version", both)
}

// The page lists the cases that were resolved in the last seven days, with the actor.
func TestAttention_lists_cases_resolved_in_seven_days(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	s := f.testInvoices
	s.mode = invoice.Live
	accepted := s.lateInvoice("1047", "0.00099")
	at := "/desk/shop/payments/" + accepted.ID
	b.send(at+"/accept", "version", b.get(at+"/accept").version()).wantRedirect(at + "?done=accepted")
	f.clock.Advance(11 * time.Hour)
	short := s.sell(shop, "1051", "80.00")
	s.pay(short, "0.0005")
	s.expire()
	at = "/desk/shop/payments/" + short.ID
	b.send(at+"/requote", "version", b.get(at+"/requote").version()).wantRedirect(at + "?done=requoted")
	resolved := func(path string) string { return textOf(b.get(path).find("#resolved li")) }
	if got := resolved("/desk/shop/attention"); !strings.HasPrefix(got, "1051: €40.00 short Requoted, by Maren") || !strings.Contains(got, "1047: Paid Accepted as paid, by Maren") {
		t.Errorf("resolved cases: %s", got)
	}
	if got := resolved("/desk/all/attention"); !strings.Contains(got, "Atelier Nord · Requoted, by Maren") {
		t.Errorf("resolved cases of all shops: %s", got)
	}
	if got := resolved("/desk/shop/attention?mode=test"); got != "" {
		t.Errorf("resolved cases in test mode: %s", got)
	}
	f.clock.Advance(6*24*time.Hour + 14*time.Hour)
	b = f.as("Tove", account.Manager)
	if got := resolved("/desk/shop/attention"); strings.Contains(got, "1047") || !strings.Contains(got, "1051") {
		t.Errorf("resolved cases a week later: %s", got)
	}
}
