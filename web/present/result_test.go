package present_test

import (
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"

	"chequer/internal/api"
	"chequer/web/present/presenttest"
)

// head returns the label and amounts at the top of a payment page.
func head(doc *goquery.Document) string {
	return strings.Join(doc.Find(".due p").Map(func(_ int, p *goquery.Selection) string { return text(p) }), " ")
}

// byHand marks every payment method of an invoice as unwatched, so that the shop checks by hand.
func byHand(r *api.Resource) {
	for i := range r.PaymentMethods {
		r.PaymentMethods[i].Watched = false
	}
}

func TestUnwatched_invoice_says_that_the_shop_checks_by_hand(t *testing.T) {
	t.Parallel()
	open := page(t, byHand)
	if got := text(open.Find("#help")); strings.Contains(got, "keep looking") ||
		!strings.Contains(got, "Atelier Nord checks its wallet by hand and uses the reference abcd-efgh.") {
		t.Errorf("help says %q", got)
	}
	if n := open.Find(".dot, .steps").Length(); n != 0 {
		t.Errorf("%d elements that show that the network is watched, want none", n)
	}
	if n := page(t, func(*api.Resource) {}).Find(".dot, .steps").Length(); n != 2 {
		t.Errorf("%d elements that show that the network is watched on the page of a watched invoice, want 2", n)
	}
	const announcement = "The held price has run out. Atelier Nord checks by hand whether you paid; if you did, do nothing and keep the reference abcd-efgh."
	for name, status := range map[string]string{"past the deadline, not yet marked expired": api.StatusCreated, "expired": api.StatusExpired} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := page(t, func(r *api.Resource) { byHand(r); r.Status, r.SecondsLeft = status, -900 })
			if got := doc.Find("#live").AttrOr("data-say", ""); got != announcement {
				t.Errorf("announced %q", got)
			}
			got := text(doc.Find("#pay"))
			if !strings.Contains(got, "Atelier Nord checks by hand whether you paid; if you did, do nothing and keep the reference abcd-efgh.") {
				t.Errorf("the page says %q", got)
			}
			for _, words := range []string{"tart again" /* "Start" or "start" */, "No payment was seen", "still looking", "We look"} {
				if strings.Contains(got, words) {
					t.Errorf("%q is in %q", words, got)
				}
			}
		})
	}
}

func TestDropped_payments_and_reorgs_are_announced(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		change      func(*api.Resource)
		title, text string
	}{
		{
			"the payment dropped", func(r *api.Resource) { r.Exceptions = []string{api.ExceptionReplaced} },
			"Payment dropped – Atelier Nord", "The network dropped the payment. Nothing was taken.",
		},
		{
			"a part dropped", func(r *api.Resource) {
				r.Status, r.DueAmount, r.Exceptions = api.StatusPending, "6.5", []string{api.ExceptionReplaced}
			},
			"€6.50 still due – Atelier Nord", "The network dropped a payment. Part of the payment arrived. €6.50 still due. The QR code now shows the rest.",
		},
		{
			"confirmation reorganised", func(r *api.Resource) {
				r.Status, r.DueAmount, r.Exceptions, r.Payments = api.StatusPending, "0", []string{api.ExceptionReorged}, []api.Payment{presenttest.Payment("seen")}
			},
			"Confirmation taken back – Atelier Nord", "The network took the confirmation back. We keep watching.",
		},
		{
			"reorganised and not seen again", func(r *api.Resource) { r.Exceptions = []string{api.ExceptionReorged} },
			"Confirmation taken back – Atelier Nord", "The network took the confirmation back. We keep watching.",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			live := page(t, tt.change).Find("#live")
			got := []string{live.AttrOr("data-title", ""), live.AttrOr("data-say", "")}
			if diff := cmp.Diff([]string{tt.title, tt.text}, got); diff != "" {
				t.Errorf("title and announcement (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLate_page_shows_the_received_amounts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		amounts []string
		want    string
	}{
		{"exact", []string{"0.00065379"}, "Received late €56.50 0.00065379 BTC"},
		{"in two parts", []string{"0.0005", "0.00015379"}, "Received late €56.50 0.00065379 BTC"},
		{"more", []string{"0.0007"}, "Received late €56.50 0.0007 BTC"},
		{"less, of unknown value", []string{"0.00065378"}, "Received late 0.00065378 BTC"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			doc := page(t, func(r *api.Resource) {
				r.Status, r.SecondsLeft, r.Exceptions = api.StatusExpired, -900, []string{api.ExceptionLate}
				for _, amount := range tt.amounts {
					p := presenttest.Payment("late")
					p.Amount, p.FiatAmount = amount, "0"
					r.Payments = append(r.Payments, p)
				}
			})
			if got := head(doc); got != tt.want {
				t.Errorf("head = %q, want %q", got, tt.want)
			}
			if got := text(doc.Find("#pay")); strings.Contains(got, "has been told") {
				t.Errorf("the page says that the shop was told, but it was not: %q", got)
			}
		})
	}
}

func TestLate_payment_is_confirmed_at_the_required_confirmations(t *testing.T) {
	t.Parallel()
	for confirmations, want := range map[int]string{0: "Seen", 1: "Seen", 2: "Confirmed", 3: "Confirmed"} {
		doc := page(t, func(r *api.Resource) {
			p := presenttest.Payment("late")
			p.Confirmations = confirmations
			r.Status, r.Exceptions, r.Payments = api.StatusExpired, []string{api.ExceptionLate}, []api.Payment{p}
		})
		if got := text(doc.Find(`.facts dt:contains("State") + dd`)); got != want {
			t.Errorf("%d of 2 confirmations: %q, want %q", confirmations, got, want)
		}
	}
}

func TestPaid_lists_confirmed_payments_but_not_replaced_ones(t *testing.T) {
	t.Parallel()
	doc := page(t, func(r *api.Resource) {
		first, dropped, second := presenttest.Payment("confirmed"), presenttest.Payment("replaced"), presenttest.Payment("confirmed")
		first.Amount, first.Tx = "0.0005", "aaaa"
		second.Amount, second.Tx = "0.00015379", "bbbb"
		dropped.Tx = "cccc"
		r.Status, r.DueAmount, r.PaidTx, r.PaidAt = api.StatusPaid, "0", "bbbb", "2026-11-27T12:52:00.000Z"
		r.Payments = []api.Payment{first, dropped, second}
	})
	rows := doc.Find(".facts > div").Map(func(_ int, row *goquery.Selection) string {
		return text(row.Find("dt")) + ": " + text(row.Find("dd"))
	})
	want := []string{
		"Reference: abcd-efgh", "Received: 0.00065379 BTC", "Confirmed: 27 Nov 2026, 12:52 UTC",
		"Payment 1: 0.0005 BTC", "Transaction: aaaa", "Payment 2: 0.00015379 BTC", "Transaction: bbbb",
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
}

func TestOverpaid_page_shows_the_received_amounts(t *testing.T) {
	t.Parallel()
	overpaid := func(state, overpaid, status string) func(*api.Resource) {
		return func(r *api.Resource) {
			p := presenttest.Payment(state)
			p.Amount, p.FiatAmount = "0.00015912", "13.75"
			r.ClientAmount, r.DueAmount, r.OverpaidAmount, r.Status, r.Payments = "12.5", "0", overpaid, status, []api.Payment{p}
		}
	}
	for _, tt := range []struct {
		name   string
		change func(*api.Resource)
		want   string
	}{
		{"seen, before the service counts it as overpaid", overpaid("seen", "0", api.StatusPending), "Received €13.75 0.00015912 BTC"},
		{"paid", func(r *api.Resource) {
			overpaid("confirmed", "1.25", api.StatusPaid)(r)
			r.Exceptions = []string{api.ExceptionOverpaid}
		}, "Paid €13.75 0.00015912 BTC"},
		{"a difference from rounding is not shown", func(r *api.Resource) {
			overpaid("confirmed", "0.01", api.StatusPaid)(r)
			r.Payments[0].FiatAmount = "12.51"
		}, "Paid €12.50 0.00015912 BTC"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := head(page(t, tt.change)); got != tt.want {
				t.Errorf("head = %q, want %q", got, tt.want)
			}
		})
	}
}
