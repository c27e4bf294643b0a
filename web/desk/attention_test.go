package desk_test

import (
	"net/http"
	"testing"
	"time"

	"chequer/internal/invoice"
)

// The page lists the invoices that wait for a decision, oldest first, with the usual decision of each.
func TestAttention_lists_cases_oldest_first_with_their_action(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	b.get("/desk/shop/attention").want(http.StatusOK, "No payment waits for a decision.")
	s := f.testInvoices
	late := s.lateInvoice("1047", "0.00099")
	short := s.sell(shop, "1051", "80.00")
	s.pay(short, "0.0005")
	s.expire()
	over := s.sell(shop, "1032", "80.00")
	f.must(s.net.Confirm(t.Context(), []string{s.pay(over, "0.0011")}))
	s.step()
	s.sell(shop, "1060", "80.00")
	foreign := s.sell("other", "1", "80.00")
	s.pay(foreign, "0.0011")
	page := b.get("/desk/shop/attention?mode=test").want(http.StatusOK, "Payments that wait for a decision")
	want := []struct{ heading, action, url string }{
		{"1047: Late", "Accept as paid…", late.ID + "/accept"},
		{"1051: €40.00 short", "Requote €40.00…", short.ID + "/requote"},
		{"1032: Overpaid", "Refund €8.00", over.ID + "/refund"},
	}
	rows := page.find(".list li")
	if rows.Length() != len(want) {
		t.Fatalf("the page has %d cases, want %d: %s", rows.Length(), len(want), page.text())
	}
	rows.Each(func(i int, row *selection) {
		w, action := want[i], row.Find(".bs a").First()
		if got := textOf(row.Find("h2")); got != w.heading {
			t.Errorf("case %d is %q, want %q", i, got, w.heading)
		}
		if got, at := textOf(action), action.AttrOr("href", ""); got != w.action+" "+w.heading || at != "/desk/shop/payments/"+w.url {
			t.Errorf("the action of %s is %q at %s, want %q at %s", w.heading, got, at, w.action, w.url)
		}
		b.get(action.AttrOr("href", "")).want(http.StatusOK)
	})
	if n := page.find(".pip").Length(); n != 0 {
		t.Error("the places count test payments")
	}
	s.mode = invoice.Live
	s.lateInvoice("1048", "0.001")
	if got := textOf(b.get("/desk/shop/account").find(".places .pip")); got != "1 open" {
		t.Errorf("the place shows %q, want 1 open", got)
	}
}

// The list marks an invoice of which a part is missing for attention exactly as long as it waits for a decision.
func TestPayments_marks_invoices_that_need_attention(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	s := f.testInvoices
	inv := s.sell(shop, "1051", "80.00")
	s.pay(inv, "0.0005")
	s.step()
	check := func(want string, needs int) {
		t.Helper()
		page := b.get("/desk/shop/payments?mode=test").want(http.StatusOK, "€40.00 short")
		if marks := page.find(".rows tbody .tag"); marks.Length() != 1 || !marks.HasClass(want) {
			t.Errorf("%d marks, the first %q, want %s", marks.Length(), marks.AttrOr("class", ""), want)
		}
		if got := b.get("/desk/shop/payments?mode=test&state=attention").find(".rows tbody .tag").Length(); got != needs {
			t.Errorf("%d payments need attention, want %d", got, needs)
		}
	}
	check("wait", 0)
	s.expire()
	check("warn", 1)
}

// A short invoice whose addresses are not watched any more allows no new quote.
func TestAttention_offers_only_allowed_actions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.testInvoices
	short := s.sell(shop, "1051", "80.00")
	s.pay(short, "0.0005")
	s.expire()
	f.clock.Advance(31 * 24 * time.Hour)
	s.step()
	b := f.owner()
	action := b.get("/desk/shop/attention?mode=test").want(http.StatusOK, "1051").find(".list .bs a")
	b.get(action.AttrOr("href", "")).want(http.StatusOK)
}
