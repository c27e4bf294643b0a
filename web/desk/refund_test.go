package desk_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"chequer/internal/account"
	"chequer/internal/chain/simnet"
	"chequer/internal/invoice"
	"chequer/internal/money"
)

const (
	shopperAddress = "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx"
	staffAddress   = "mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn"
)

// giveRefundAddress sets the refund address, as the shopper does on the payment page.
func (s *testInvoices) giveRefundAddress(inv *invoice.Invoice) {
	s.fixture.t.Helper()
	_, err := s.SetRefundAddress(s.fixture.t.Context(), inv.ID, "shopper", "BTC", shopperAddress)
	s.fixture.must(err)
}

func (s *testInvoices) reload(inv *invoice.Invoice) *invoice.Invoice {
	s.fixture.t.Helper()
	got, err := s.Invoice(s.fixture.t.Context(), inv.ID)
	s.fixture.must(err)
	return got
}

// The manager refunds a late payment to the shopper's address. The case is removed from Needs attention when the refund is marked as sent, and
// the audit log has both changes.
func TestRefund_closes_the_case_when_it_is_sent(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.owner()
		b := f.as("Tove", account.Manager)
		inv := f.testInvoices.lateInvoice("1047", "0.00099")
		f.testInvoices.giveRefundAddress(inv)
		at := "/desk/shop/payments/" + inv.ID
		b.get(at).want(http.StatusOK, "Accept as paid…", "Prepare refund", "Decline refund…")
		b.get("/desk/shop/attention?mode=test").want(http.StatusOK, "1047: Late", "Accept as paid…")
		before := len(f.actions())
		ask := b.get(at+"/refund").want(http.StatusOK, "Refund 1047", "The shopper entered a refund address", "For 0.00099 BTC: "+shopperAddress, "0.00099 BTC, everything that is not refunded yet")
		b.send(at+"/refund", append(ask.hidden(`form[action$="/refund"]`), "amount", "received:BTC")...).wantRedirect(at + "/refund?done=refund-ready")
		ready := b.get(at+"/refund?done=refund-ready").want(http.StatusOK, "The refund is ready to be paid.", "Ready, not sent yet", "Address on", "entered by the shopper",
			"0.00099 BTC", "€79.20, at €80,000.00 for 1 BTC", "No other refund of this invoice", "Nothing can be refunded")
		if n := ready.find("svg.qr path").Length(); n != 1 {
			t.Errorf("the page has %d QR codes, want 1", n)
		}
		link := ready.find(`a[href^="bitcoin:"]`).AttrOr("href", "")
		if want := "bitcoin:" + shopperAddress + "?amount=0.00099&label=Refund%201047"; link != want {
			t.Errorf("the payment link is %q, want %q", link, want)
		}
		r := f.testInvoices.reload(inv).Refunds[0]
		send := at + "/refund/" + r.ID + "/sent"
		form := ready.hidden(`form[action$="/sent"]`)
		b.send(send, append(form, "tx-"+r.ID, "8f3c")...).want(http.StatusUnprocessableEntity, "This is no transaction ID of this network.", "Ready, not sent yet")
		b.send(send, append(form, "tx-"+r.ID, strings.Repeat("8f", 32))...).wantRedirect(at + "/refund?done=refund-sent")
		b.get(at+"/refund?done=refund-sent").want(http.StatusOK, "The refund was marked as sent.", "By Tove")
		b.get("/desk/shop/attention?mode=test").want(http.StatusOK, "No payment waits for a decision.")
		b.get(at).want(http.StatusOK, "Refund of 0.00099 BTC requested", "Refund of 0.00099 BTC prepared", "Refund of 0.00099 BTC sent")
		b.get("/desk/shop/refunds?mode=test").want(http.StatusOK, "1047", "0.00099 BTC", "Sent")
		if got := strings.Join(f.actions()[before:], ", "); got != "Tove: invoice.changed, Tove: invoice.changed" {
			t.Errorf("the audit log has %q, want two changes by Tove", got)
		}
		b.send(send, append(form, "tx-"+r.ID, strings.Repeat("8f", 32))...).want(http.StatusConflict, "The invoice changed after you opened the page.")
	})
}

// An address that an account enters needs a confirmed sign-in. The page shows the name of the account.
func TestRefund_to_an_address_that_an_account_enters(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		b := f.ownerByPassword()
		inv := f.testInvoices.lateInvoice("1047", "0.00099")
		at := "/desk/shop/payments/" + inv.ID + "/refund"
		f.clock.Advance(11 * time.Minute)
		form := append(b.get(at).want(http.StatusOK, "Prepare a refund").hidden(`form[action$="/refund"]`), "amount", "part:BTC", "part", "0.0005", "address", staffAddress)
		ask := b.send(at, form...).want(http.StatusForbidden, "Confirm it’s you")
		if got := f.testInvoices.reload(inv).Refunds; len(got) != 0 {
			t.Fatalf("prepared without a confirmation: %+v", got)
		}
		kept := ask.hidden(`form[action$="/desk/shop/confirm"]`)
		var repeated []string
		for i := 0; i < len(kept); i += 2 {
			if !strings.HasPrefix(kept[i], "confirm-") {
				repeated = append(repeated, kept[i], kept[i+1])
			}
		}
		answer := b.send("/desk/shop/confirm", append(kept, "confirm-password", password, "confirm-code", f.code("Maren"))...)
		if answer.status != http.StatusTemporaryRedirect {
			t.Fatalf("the confirmation answers %d, want 307: %s", answer.status, answer.text())
		}
		b.send(at, repeated...).wantRedirect(at + "?done=refund-ready")
		b.get(at).want(http.StatusOK, "entered by Maren", "0.0005 BTC", "0.00049 BTC")
		b.send(at, repeated...).want(http.StatusConflict, "The invoice changed after you opened the page.") // a double submit
		if got := f.testInvoices.reload(inv).Refunds; len(got) != 1 {
			t.Errorf("%d refunds after a double submit, want 1", len(got))
		}
	})
}

func TestRefund_form_names_each_fault(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	other := f.testInvoices.sell(shop, "1", "5.00")
	inv := f.testInvoices.lateInvoice("1047", "0.00099")
	b := f.owner()
	at := "/desk/shop/payments/" + inv.ID + "/refund"
	fields := b.get(at).hidden(`form[action$="/refund"]`)
	foreign, _ := other.Method("simnet", "BTC")
	for _, tt := range []struct{ amount, part, address, want string }{
		{"", "", "", "Choose one of the amounts."},
		{"received:LTC", "", "", "Choose one of the amounts."},
		{"all:BTC", "", "", "Choose one of the amounts."},
		{"surplus:BTC", "", "", "Choose one of the amounts."},
		{"received:BTC", "1", "", "Leave this empty, or choose another amount above."},
		{"part:BTC", "", "", "Enter a number such as 12.50."},
		{"part:BTC", "1e-3", "", "Enter a number such as 12.50."},
		{"part:BTC", "1,500", "", "Enter a number such as 12.50."},
		{"part:BTC", "-1", "", "Enter a number such as 12.50."},
		{"part:BTC", "0", "", "This is less than the network can transfer."},
		{"part:BTC", "0.000000001", "", "The currency has fewer decimals."},
		{"part:BTC", "0.00099001", "", "This is more than the confirmed amount that is not refunded yet."},
		{"fiat:BTC", "79.21", "", "This is more than the confirmed amount that is not refunded yet."},
		{"received:BTC", "", "nonsense", "This is not a valid address"},
		{"received:BTC", "", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", "This is for another network"},
		{"received:BTC", "", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "This is not a valid address"},
		{"received:BTC", "", foreign.Destination.Address, "This is a payment address of an invoice."},
		{"received:BTC", "", "L1aW4aubDFB7yfras2S1mN3bqg9nwySY8nkoLmJebSLD5BWv3ENZ", "This is a private key or a recovery phrase."},
	} {
		form := append(fields, "amount", tt.amount, "part", tt.part, "address", tt.address)
		got := b.send(at, form...).want(http.StatusUnprocessableEntity, tt.want)
		if value := got.find("#part").AttrOr("value", ""); value != tt.part {
			t.Errorf("%v: the form has the amount %q", tt, value)
		}
		value, secret := got.find("#address").AttrOr("value", ""), strings.HasPrefix(tt.address, "L1")
		if secret && strings.Contains(got.body, tt.address) || !secret && value != tt.address {
			t.Errorf("%v: the form has the address %q", tt, value)
		}
	}
	if got := f.testInvoices.reload(inv).Refunds; len(got) != 0 {
		t.Errorf("every form was refused, but there are refunds: %+v", got)
	}
}

// The amount of a refund in euro is held for 24 hours. After that it must be renewed before the refund is paid.
func TestRefund_in_euro(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		b := f.owner()
		inv := f.testInvoices.lateInvoice("1047", "0.00099")
		f.testInvoices.giveRefundAddress(inv)
		at := "/desk/shop/payments/" + inv.ID + "/refund"
		b.send(at, append(b.get(at).hidden(`form[action$="/refund"]`), "amount", "fiat:BTC", "part", "40")...).wantRedirect(at + "?done=refund-ready")
		b.get(at).want(http.StatusOK, "0.0005 BTC", "The rate is held until")
		f.testInvoices.quote("BTC-EUR=100000,LTC-EUR=80,ETH-EUR=2500,EUR-USD=1.08")
		for range 4 { // a session ends after some time without a request
			f.clock.Advance(6*time.Hour + time.Minute)
			b.get(at).want(http.StatusOK, "Refund 1047")
		}
		stale := b.get(at).want(http.StatusOK, "Renew the amount before you pay.", "Renew €40.00 at the current rate")
		if n := stale.find(`a[href^="bitcoin:"], svg.qr`).Length(); n != 0 {
			t.Error("the page of an amount that is not valid any more has a payment link")
		}
		id := f.testInvoices.reload(inv).Refunds[0].ID
		b.send(at+"/"+id+"/renew", stale.hidden(`form[action$="/renew"]`)...).wantRedirect(at + "?done=refund-renewed")
		renewed := b.get(at).want(http.StatusOK, "0.0004 BTC")
		b.send(at+"/"+id+"/cancel", renewed.hidden(`form[action$="/cancel"]`)...).wantRedirect(at + "?done=refund-cancelled")
		b.get(at).want(http.StatusOK, "Cancelled", "0.00099 BTC, everything that is not refunded yet")
	})
}

// Without an address the refund waits for the shopper.
func TestRefund_asks_for_the_address(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		b := f.owner()
		inv := f.testInvoices.lateInvoice("1047", "0.00099")
		at := "/desk/shop/payments/" + inv.ID + "/refund"
		b.send(at, append(b.get(at).hidden(`form[action$="/refund"]`), "amount", "received:BTC")...).wantRedirect(at + "?done=refund-asked")
		b.get(at).want(http.StatusOK, "Waits for the shopper’s address", "/invoice/"+inv.ID)
		f.testInvoices.giveRefundAddress(inv)
		b.get(at).want(http.StatusOK, "Pay this from your wallet", "entered by the shopper")
	})
}

// If two accounts prepare a refund at the same time, one refund is stored and the other form is refused with 409.
func TestRefund_by_two_accounts_at_once(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		maren := f.owner()
		tove := f.as("Tove", account.Manager)
		inv := f.testInvoices.lateInvoice("1047", "0.00099")
		f.testInvoices.giveRefundAddress(inv)
		at := "/desk/shop/payments/" + inv.ID + "/refund"
		var group sync.WaitGroup
		statuses := make([]int, 2)
		for i, b := range []*browser{maren, tove} {
			form := append(b.get(at).hidden(`form[action$="/refund"]`), "form", b.formToken(), "amount", "received:BTC")
			group.Go(func() { statuses[i] = b.post(at, form...).status })
		}
		group.Wait()
		if statuses[0]+statuses[1] != http.StatusSeeOther+http.StatusConflict || len(f.testInvoices.reload(inv).Refunds) != 1 {
			t.Errorf("answers %v, %d refunds, want 303 and 409, and one refund", statuses, len(f.testInvoices.reload(inv).Refunds))
		}
	})
}

// A refund must not be paid if a reorganisation removed its payment.
func TestRefund_of_a_reorganised_payment(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		b := f.owner()
		inv := f.testInvoices.lateInvoice("1047", "0.00099")
		f.testInvoices.giveRefundAddress(inv)
		at := "/desk/shop/payments/" + inv.ID + "/refund"
		b.send(at, append(b.get(at).hidden(`form[action$="/refund"]`), "amount", "received:BTC")...).wantRedirect(at + "?done=refund-ready")
		f.must(f.testInvoices.net.Reorganise(t.Context(), []string{f.testInvoices.reload(inv).Transfers[0].Tx}))
		f.testInvoices.step()
		page := b.get(at).want(http.StatusOK, "Do not pay: the refunds of this invoice are 0.00099 BTC more than what is received and confirmed.")
		if n := page.find(`a[href^="bitcoin:"], svg.qr`).Length(); n != 0 {
			t.Error("the page has a payment link")
		}
	})
}

func TestDecline_closes_the_case_with_its_reason(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		b := f.owner()
		inv := f.testInvoices.lateInvoice("1047", "0.00099")
		at := "/desk/shop/payments/" + inv.ID
		b.get(at+"/decline").want(http.StatusConflict, "The invoice does not allow this now.")
		f.testInvoices.giveRefundAddress(inv)
		ask := b.get(at+"/decline").want(http.StatusOK, "Decline the refund of 1047?", "refund.declined is sent to your shop.", "Optional. Stored with the invoice and in the audit log.")
		b.send(at+"/decline", "version", ask.version(), "reason", strings.Repeat("a", 501)).want(http.StatusUnprocessableEntity, "The reason has more than 500 bytes")
		b.send(at+"/decline", "version", ask.version(), "reason", "the goods were not returned").wantRedirect(at + "?done=declined")
		b.get(at+"?done=declined").want(http.StatusOK, "The refund was declined.", "Refund of 0.00099 BTC declined", "the goods were not returned")
		b.get("/desk/shop/attention?mode=test").want(http.StatusOK, "No payment waits for a decision.")
		b.get("/desk/shop/log").want(http.StatusOK, "the goods were not returned")
		b.send(at+"/decline", "version", ask.version()).want(http.StatusConflict, "The invoice changed after you opened the page.")
	})
}

func TestKeep_closes_an_overpaid_case_until_undone(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		b := f.owner()
		inv := f.testInvoices.sell(shop, "1032", "80.00")
		f.testInvoices.settle(inv, "0.0011")
		at := "/desk/shop/payments/" + inv.ID
		ask := b.get(at+"/keep").want(http.StatusOK, "Keep the surplus of €8.00?", "You can undo this for 30 days.")
		b.send(at+"/keep", "version", ask.version(), "reason", "a tip").wantRedirect(at + "?done=kept")
		b.get(at+"?done=kept").want(http.StatusOK, "You keep the surplus.", "Surplus of €8.00 kept", "a tip", "Undo keeping the surplus…")
		b.get("/desk/shop/attention?mode=test").want(http.StatusOK, "No payment waits for a decision.")
		undo := b.get(at+"/release").want(http.StatusOK, "Undo keeping the surplus of €8.00?")
		b.send(at+"/release", "version", undo.version()).wantRedirect(at + "?done=released")
		b.get("/desk/shop/attention?mode=test").want(http.StatusOK, "1032: Overpaid", "Refund €8.00")
		b.get(at+"/refund").want(http.StatusOK, "0.0001 BTC, the surplus")
		f.testInvoices.giveRefundAddress(inv)
		b.get("/desk/shop/attention?mode=test").want(http.StatusOK, "1032: Refund requested", "Prepare refund")
		b.get(at).want(http.StatusOK, "The shopper entered a refund address", "For 0.0001 BTC: "+shopperAddress, "Keep the surplus…", "Decline refund…")
		b.get(at+"/release").want(http.StatusConflict, "The invoice does not allow this now.")
	})
}

// The list has only the refunds of the shop, and can be filtered by state.
func TestRefunds_are_listed_by_shop_and_state(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		b := f.owner()
		reader := f.as("Runa", account.Bookkeeper)
		b.get("/desk/shop/refunds?mode=test").want(http.StatusOK, "There is no such refund.")
		for _, merchant := range []string{shop, "other"} {
			inv := f.testInvoices.sell(merchant, "of "+merchant, "80.00")
			f.testInvoices.expire()
			f.must(f.testInvoices.net.Confirm(t.Context(), []string{f.testInvoices.pay(inv, "0.001")}))
			f.testInvoices.step()
			f.testInvoices.giveRefundAddress(inv)
		}
		page := reader.get("/desk/shop/refunds?mode=test").want(http.StatusOK, "of shop", "0.001 BTC", "€80.00", "Requested", "By the shopper")
		if at := page.find("tbody a").AttrOr("href", ""); strings.HasSuffix(at, "/refund") {
			t.Errorf("the row leads a bookkeeper to %s, want the page of the payment", at)
		} else {
			reader.get(at).want(http.StatusOK, "of shop")
		}
		if n := page.find("tbody tr").Length(); n != 1 {
			t.Errorf("the list has %d refunds, want 1", n)
		}
		reader.get("/desk/shop/refunds?mode=test&state=ready").want(http.StatusOK, "There is no such refund.")
		reader.get("/desk/shop/refunds?mode=test&state=asked").want(http.StatusOK, "of shop")
		reader.get("/desk/shop/refunds").want(http.StatusOK, "There is no such refund.")
	})
}

// The desk states on which page the shopper entered the address. From then on, a prepared refund is a case.
func TestRefund_of_an_address_that_the_shopper_gives_later(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		b := f.owner()
		inv := f.testInvoices.sell(shop, "1047", "80.00")
		f.must(f.testInvoices.net.Confirm(t.Context(), []string{f.testInvoices.pay(inv, "0.001")}))
		f.testInvoices.step()
		var made invoice.Refund
		for _, amount := range []string{"0.0002", "0.0003"} {
			_, r, err := f.testInvoices.CreateRefund(t.Context(), inv.ID, invoice.RefundDraft{
				Kind: invoice.RefundPart, Asset: "BTC", Amount: money.MustParse(amount, money.BTC), By: "Tove",
			})
			f.must(err)
			made = r
		}
		b.get("/desk/shop/attention?mode=test").want(http.StatusOK, "No payment waits for a decision.")
		_, err := f.testInvoices.SetRefundAddress(t.Context(), inv.ID, "key_page", "BTC", shopperAddress)
		f.must(err)
		at := "/desk/shop/payments/" + inv.ID
		b.get("/desk/shop/attention?mode=test").want(http.StatusOK, "1047: Refund requested", "Open refund")
		b.get(at).want(http.StatusOK, "The shopper entered a refund address", "For 0.0002 BTC, 0.0003 BTC: "+shopperAddress,
			shopperAddress+", entered by the shopper on a page of the API key key_page")
		page := b.get(at+"/refund").want(http.StatusOK, "entered by the shopper on a page of the API key key_page")
		first := f.testInvoices.reload(inv).Refunds[0]
		tx := strings.Repeat("8f", 32)
		b.send(at+"/refund/"+first.ID+"/sent", append(page.hidden(`form[action$="`+first.ID+`/sent"]`), "tx-"+first.ID, tx)...).wantRedirect(at + "/refund?done=refund-sent")
		page = b.get(at + "/refund")
		b.send(at+"/refund/"+made.ID+"/sent", append(page.hidden(`form[action$="`+made.ID+`/sent"]`), "tx-"+made.ID, tx)...).
			want(http.StatusUnprocessableEntity, "This transaction belongs to another refund to the same address.")
	})
}

// A refund that is paid twice needs attention until a member of the team states that it was looked at.
func TestRefund_in_trouble_needs_attention(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		b := f.owner()
		inv := f.testInvoices.sell(shop, "1048", "80.00")
		f.must(f.testInvoices.net.Confirm(t.Context(), []string{f.testInvoices.pay(inv, "0.0015")}))
		f.testInvoices.step()
		f.testInvoices.giveRefundAddress(inv)
		_, r, err := f.testInvoices.CreateRefund(t.Context(), inv.ID, invoice.RefundDraft{Kind: invoice.RefundSurplus, Asset: "BTC", By: "Tove"})
		f.must(err)
		m, _ := inv.Method(simnet.ID, "BTC")
		var txs []string
		for range 2 {
			tx, err := f.testInvoices.net.Pay(t.Context(), m.Asset, r.Script, r.Amount)
			f.must(err)
			txs = append(txs, tx)
		}
		f.must(f.testInvoices.net.Confirm(t.Context(), txs))
		f.testInvoices.step()
		at := "/desk/shop/payments/" + inv.ID
		b.get("/desk/shop/attention?mode=test").want(http.StatusOK, "1048: Refund in trouble", "Open refund")
		b.get(at).want(http.StatusOK, "A refund is in trouble")
		page := b.get(at+"/refund").want(http.StatusOK, "Two transactions pay this refund.", "I have looked at it")
		form := page.hidden(`form[action$="/checked"]`)
		f.as("Runa", account.Bookkeeper).send(at+"/refund/"+r.ID+"/checked", form...).want(http.StatusForbidden)
		b.send(at+"/refund/"+r.ID+"/checked", form...).wantRedirect(at + "/refund?done=refund-checked")
		b.get(at+"/refund?done=refund-checked").want(http.StatusOK, "The refund needs no more attention.", "Two transactions pay this refund.", "Maren looked at it at")
		b.get("/desk/shop/attention?mode=test").want(http.StatusOK, "No payment waits for a decision.")
		b.send(at+"/refund/"+r.ID+"/checked", form...).want(http.StatusConflict)
	})
}
