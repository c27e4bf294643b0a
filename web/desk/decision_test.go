package desk_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"chequer/internal/account"
	"chequer/internal/chain/simnet"
	"chequer/internal/invoice"
)

// version returns the version of the invoice that the page of a decision shows.
func (p page) version() string {
	p.t.Helper()
	return p.find("#decide input[name=version]").AttrOr("value", "")
}

// lateInvoice returns an invoice of 80 euro whose payment was sent after the quote had ended, and is confirmed.
func (s *testInvoices) lateInvoice(order, amount string) *invoice.Invoice {
	s.fixture.t.Helper()
	inv := s.sell(shop, order, "80.00")
	s.expire()
	s.fixture.must(s.net.Confirm(s.fixture.t.Context(), []string{s.pay(inv, amount)}))
	s.step()
	return inv
}

// A manager accepts a late payment: the page states the consequences first, and the log names the manager.
func TestDecision_accepts_a_late_payment(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.owner()
		b := f.as("Tove", account.Manager)
		inv := f.testInvoices.lateInvoice("1047", "0.00099")
		at := "/desk/shop/payments/" + inv.ID
		if n := b.get(at).want(http.StatusOK, "Accept as paid…").find(`a[href="` + at + `/accept"]`).Length(); n != 1 {
			t.Fatalf("the page has %d links to accept the invoice, want 1", n)
		}
		ask := b.get(at+"/accept").want(http.StatusOK, "Accept €79.20 as full payment of €80.00?")
		for _, want := range []string{
			"The invoice becomes paid.", "invoice.paid is sent to your shop, which may ship.", "The payment page becomes a receipt for €80.00.",
			"You waive €0.80.", "This cannot be undone. A refund is still possible.",
		} {
			if !strings.Contains(ask.text(), want) {
				t.Errorf("the page lacks %q: %s", want, ask.text())
			}
		}
		before := len(f.actions())
		b.send(at+"/accept", "version", ask.version()).wantRedirect(at + "?done=accepted")
		page := b.get(at+"?done=accepted").want(http.StatusOK, "The invoice was accepted as paid.")
		for _, want := range []string{"€80.00 Paid", "Waived €0.80", "Accepted as paid", "By Tove."} {
			if !strings.Contains(page.text(), want) {
				t.Errorf("the page lacks %q: %s", want, page.text())
			}
		}
		if n := page.find(".ask").Length(); n != 0 {
			t.Errorf("the page of the accepted invoice still asks for a decision")
		}
		if got := f.actions()[before:]; len(got) != 1 || got[0] != "Tove: invoice.changed" {
			t.Errorf("the audit log has %q, want the change by Tove", got)
		}
		b.get("/desk/shop/log").want(http.StatusOK, "Invoice changed: "+inv.ID)
		b.send(at+"/accept", "version", ask.version()).want(http.StatusConflict, "The invoice changed after you opened the page.")
		b.get(at+"/accept").want(http.StatusConflict, "The invoice does not allow this now.")
	})
}

// An acceptance that waives more than 5 percent needs a confirmed sign-in, and continues after it.
func TestDecision_high_risk(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		b := f.ownerByPassword()
		inv := f.testInvoices.lateInvoice("1047", "0.0009") // 72 euro
		at := "/desk/shop/payments/" + inv.ID
		f.clock.Advance(11 * time.Minute)
		version := b.get(at+"/accept").want(http.StatusOK, "You waive €8.00.").version()
		ask := b.send(at+"/accept", "version", version).want(http.StatusForbidden, "Confirm it’s you")
		if got, err := f.testInvoices.Invoice(t.Context(), inv.ID); err != nil || len(got.Accepted) != 0 {
			t.Fatalf("the invoice was accepted without a confirmation, error %v", err)
		}
		kept := ask.confirmFields()
		answer := b.post("/desk/shop/confirm", append(kept, "confirm-password", password, "confirm-code", f.code("Maren"))...)
		if answer.status != http.StatusTemporaryRedirect || answer.header.Get("Location") != at+"/accept" {
			t.Fatalf("the confirmation answers %d to %q, want 307 to %q: %s", answer.status, answer.header.Get("Location"), at+"/accept", answer.text())
		}
		b.post(at+"/accept", kept...).wantRedirect(at + "?done=accepted")
	})
}

// The value at receipt decides about the risk if the price of the coin fell after the quote.
func TestDecision_risk_is_the_loss_at_receipt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	inv := f.testInvoices.sell(shop, "1047", "80.00")
	f.testInvoices.expire()
	f.testInvoices.quote("BTC-EUR=40000,LTC-EUR=80,ETH-EUR=2500,EUR-USD=1.08")
	f.testInvoices.pay(inv, "0.001")
	at := "/desk/shop/payments/" + inv.ID
	f.clock.Advance(11 * time.Minute)
	ask := b.get(at+"/accept").want(http.StatusOK, "The transfers were worth €40.00 when they arrived.")
	b.send(at+"/accept", "version", ask.version()).want(http.StatusForbidden, "Confirm it’s you")
}

// A decision about facts that changed meanwhile is answered with the new facts, and changes nothing.
func TestDecision_about_changed_facts_is_refused(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		b := f.owner()
		inv := f.testInvoices.sell(shop, "1047", "80.00")
		at := "/desk/shop/payments/" + inv.ID
		version := b.get(at+"/cancel").want(http.StatusOK, "Cancel 1047?").version()
		f.testInvoices.pay(inv, "0.0005")
		before := len(f.actions())
		for _, stale := range []string{version, "", "x"} {
			b.send(at+"/cancel", "version", stale).want(http.StatusConflict, "The invoice changed after you opened the page. Nothing was decided.").want(http.StatusConflict, "€40.00 short")
		}
		if got := f.actions(); len(got) != before {
			t.Errorf("the audit log has %q after refused decisions, want no entry", got[before:])
		}
		b.send(at+"/accept", "version", version).want(http.StatusConflict, "€40.00 short")
		version = b.get(at+"/cancel").want(http.StatusOK, "€40.00 was received and remains in your wallet until you refund it.").version()
		b.send(at+"/cancel", "version", version).wantRedirect(at + "?done=cancelled")
		b.get(at+"?done=cancelled").want(http.StatusOK, "The invoice was cancelled.")
	})
}

// A short invoice is requoted, and the roles without the permission see no decision.
func TestDecision_requotes_a_short_invoice(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		b := f.owner()
		reader := f.as("Runa", account.Bookkeeper)
		inv := f.testInvoices.sell(shop, "1047", "80.00")
		f.testInvoices.pay(inv, "0.0005")
		f.testInvoices.expire()
		at := "/desk/shop/payments/" + inv.ID
		ask := b.get(at+"/requote").want(http.StatusOK, "Requote €40.00?").want(http.StatusOK, "The payment page asks for €40.00 at current rates.")
		if got := reader.get(at).want(http.StatusOK, "€40.00").find(`a[href^="` + at + `/"]`).Length(); got != 0 {
			t.Errorf("the page of a bookkeeper has %d links to decisions, want none", got)
		}
		reader.get(at+"/requote").want(http.StatusForbidden, "Decisions about payments are made by: Owner: Maren.")
		b.send(at+"/requote", "version", ask.version()).wantRedirect(at + "?done=requoted")
		b.get(at).want(http.StatusOK, "€40.00 due; quote valid until")
		b.get(at+"/nothing").want(http.StatusNotFound, "Not found")
		b.send(at+"/nothing").want(http.StatusNotFound, "Not found")
		foreign := f.testInvoices.sell("other", "1", "5.00")
		b.get("/desk/shop/payments/"+foreign.ID+"/cancel").want(http.StatusNotFound, "Not found")
		b.send("/desk/shop/payments/"+foreign.ID+"/cancel", "version", "1").want(http.StatusNotFound, "Not found")
	})
}

// A payment that replaces a smaller payment in time keeps the amount of that payment as paid in time. Only the rest has
// the value at receipt.
func TestDecision_risk_of_a_replaced_payment(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	s := f.testInvoices
	inv := s.sell(shop, "1047", "80.00")
	m, _ := inv.Method(simnet.ID, "BTC")
	send := func(units string) {
		t.Helper()
		_, err := s.net.Send(t.Context(), simnet.Tx{Spends: []string{"a:0"}, Outputs: []simnet.Output{{Asset: "BTC", Script: m.Destination.Script, Units: units}}})
		f.must(err)
		s.step()
	}
	send("1000") // 0.80 euro
	s.expire()
	s.quote("BTC-EUR=8000,LTC-EUR=80,ETH-EUR=2500,EUR-USD=1.08")
	f.clock.Advance(time.Second)
	send("100000") // 80 euro at the quote, 8 euro when it arrives
	f.clock.Advance(11 * time.Minute)
	at := "/desk/shop/payments/" + inv.ID
	ask := b.get(at+"/accept").want(http.StatusOK, "The transfers were worth €8.72 when they arrived.")
	b.send(at+"/accept", "version", ask.version()).want(http.StatusForbidden, "Confirm it’s you")
}

// A late payment without a rate at receipt may have lost any part of its value.
func TestDecision_risk_without_a_rate(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	inv := f.testInvoices.sell(shop, "1047", "80.00")
	f.testInvoices.expire()
	f.testInvoices.quote("LTC-EUR=80,EUR-USD=1.08")
	f.testInvoices.pay(inv, "0.001")
	f.testInvoices.quote("BTC-EUR=40000,LTC-EUR=80,ETH-EUR=2500,EUR-USD=1.08")
	f.clock.Advance(11 * time.Minute)
	at := "/desk/shop/payments/" + inv.ID
	ask := b.get(at+"/accept").want(http.StatusOK, "There was no rate when a late transfer arrived.")
	b.send(at+"/accept", "version", ask.version()).want(http.StatusForbidden, "Confirm it’s you")
}

// Payments in time lose nothing, however many amounts are rounded.
func TestDecision_of_many_payments_in_time(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	inv := f.testInvoices.sell(shop, "1047", "8.00")
	for range 3 {
		f.testInvoices.pay(inv, "0.00003312")
	}
	ask := b.get("/desk/shop/payments/"+inv.ID+"/accept").want(http.StatusOK, "Accept €7.94 as full payment of €8.00?")
	if strings.Contains(ask.text(), "when they arrived") {
		t.Errorf("the page states a loss: %s", ask.text())
	}
}
