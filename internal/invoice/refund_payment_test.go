package invoice_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"chequer/internal/chain/simnet"
	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/storage"
	"chequer/internal/storage/storagetest"
)

// ready prepares a refund of an amount of bitcoin to an address.
func (s *shop) ready(inv *invoice.Invoice, amount, address string) invoice.Refund {
	s.t.Helper()
	draft := invoice.RefundDraft{Kind: invoice.RefundPart, Asset: "BTC", Amount: btc(amount), Address: address, By: "Tove", Again: true}
	_, made, err := s.service.CreateRefund(s.t.Context(), inv.ID, draft)
	s.must(err)
	if made.State != invoice.RefundReady {
		s.t.Fatalf("prepared: %+v", made)
	}
	return made
}

// payRefund pays an amount of bitcoin to the address of a refund, and scans.
func (s *shop) payRefund(inv *invoice.Invoice, r invoice.Refund, amount string) (tx string) {
	s.t.Helper()
	m, _ := inv.Method(simnet.ID, "BTC")
	tx, err := s.net.Pay(s.t.Context(), m.Asset, r.Script, btc(amount))
	s.must(err)
	s.step()
	return tx
}

// confirmTx puts a transaction into a block, and scans.
func (s *shop) confirmTx(tx string) {
	s.t.Helper()
	s.must(s.net.Confirm(s.t.Context(), []string{tx}))
	s.step()
}

// eventTypes returns the types of the events of an invoice, in order.
func (s *shop) eventTypes(inv *invoice.Invoice) (types []string) {
	s.t.Helper()
	list, err := s.store.Events(s.t.Context(), "m", invoice.Test, 0, 1000)
	s.must(err)
	for _, e := range list {
		if s.invoiceOf(e) == inv.ID {
			types = append(types, string(e.Type))
		}
	}
	return types
}

// wantRefund fails unless a refund is in a state, with a transaction and a trouble.
func (s *shop) wantRefund(inv *invoice.Invoice, ref string, state invoice.RefundState, tx string, trouble invoice.RefundTrouble) invoice.Refund {
	s.t.Helper()
	inv = s.reload(inv)
	i := slices.IndexFunc(inv.Refunds, func(r invoice.Refund) bool { return r.ID == ref })
	got := inv.Refunds[i]
	if got.State != state || got.Tx != tx || got.Trouble != trouble {
		s.t.Fatalf("the refund is %s by %q with trouble %q, want %s by %q with %q", got.State, got.Tx, got.Trouble, state, tx, trouble)
	}
	if has := inv.State.Has(invoice.RefundInTrouble); has != (trouble != "") {
		s.t.Errorf("the exception about refunds is %v", has)
	}
	return got
}

func TestRefund_is_sent_and_confirmed_when_the_network_shows_it(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		inv := s.latePaid("0.0005")
		r := s.ready(inv, "0.0003", shopperBTC)
		tx := s.payRefund(inv, r, "0.0003")
		got := s.wantRefund(inv, r.ID, invoice.RefundSent, tx, "")
		if got.Sent.By != invoice.RefundNetwork || got.Payment == nil || got.Payment.Block != nil {
			t.Errorf("sent: %+v", got)
		}
		s.confirmTx(tx)
		got = s.wantRefund(inv, r.ID, invoice.RefundConfirmed, tx, "")
		if !got.Payment.Final() || !got.WatchUntil.After(s.clock.Now()) {
			t.Errorf("confirmed: %+v", got)
		}
		var events []string
		for _, e := range s.eventTypes(inv) {
			if strings.HasPrefix(e, "refund.") {
				events = append(events, e)
			}
		}
		if want := []string{"refund.created", "refund.sent", "refund.confirmed"}; !slices.Equal(events, want) {
			t.Errorf("events %v, want %v", events, want)
		}
		version := s.reload(inv).Version
		s.step()
		if got := s.reload(inv).Version; got != version {
			t.Errorf("a scan without a change made version %d of %d", got, version)
		}
		if _, err := s.service.SendRefund(t.Context(), inv.ID, r.ID, strings.Repeat("a", 64), "Tove", 0); err == nil {
			t.Error("another transaction of a confirmed refund is accepted")
		}
	})
}

func TestRefund_is_paid_by_a_transfer_of_its_amount_only(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		inv := s.latePaid("0.0005")
		earlier := s.ready(inv, "0.0001", shopperBTC)
		s.payRefund(inv, earlier, "0.0003") // older than the next refund
		s.clock.Advance(time.Minute)
		r := s.ready(inv, "0.0003", shopperBTC)
		s.payRefund(inv, r, "0.00029")
		s.wantRefund(inv, r.ID, invoice.RefundReady, "", "")
	})
}

func TestRefund_with_a_transaction_of_another_amount_is_in_trouble(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		inv := s.latePaid("0.0005")
		r := s.ready(inv, "0.0003", shopperBTC)
		wrong := s.payRefund(inv, r, "0.00003")
		_, err := s.service.SendRefund(t.Context(), inv.ID, r.ID, wrong, "Tove", 0)
		s.must(err)
		s.step()
		s.wantRefund(inv, r.ID, invoice.RefundSent, wrong, invoice.RefundWrongAmount)
		if !slices.Contains(s.eventTypes(inv), string(invoice.EventException)) {
			t.Error("no exception was raised")
		}
		right := s.payRefund(inv, r, "0.0003")
		s.wantRefund(inv, r.ID, invoice.RefundSent, right, "")
		s.confirmTx(right)
		s.wantRefund(inv, r.ID, invoice.RefundConfirmed, right, "")
	})
}

func TestRefund_paid_twice_is_in_trouble(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		inv := s.latePaid("0.0005")
		r := s.ready(inv, "0.0002", shopperBTC)
		first := s.payRefund(inv, r, "0.0002")
		s.confirmTx(first)
		s.payRefund(inv, r, "0.0002")
		s.wantRefund(inv, r.ID, invoice.RefundConfirmed, first, invoice.RefundDouble)
	})
}

// A trouble raises the exception until the merchant has looked at it. Another trouble raises it again.
func TestCheckRefund_ends_the_exception(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		inv := s.latePaid("0.0005")
		r := s.ready(inv, "0.0005", shopperBTC)
		if _, err := s.service.CheckRefund(t.Context(), inv.ID, r.ID, "Tove", 0); !errors.Is(err, invoice.ErrState) {
			t.Errorf("without trouble: %v, want %v", err, invoice.ErrState)
		}
		s.confirmTx(s.payRefund(inv, r, "0.0005"))
		s.payRefund(inv, r, "0.0005")
		if got := s.reload(inv); !got.State.Has(invoice.RefundInTrouble) || !got.NeedsDecision() {
			t.Errorf("before: %v, needs a decision %t", got.State.Exceptions, got.NeedsDecision())
		}
		_, err := s.service.CheckRefund(t.Context(), inv.ID, r.ID, "Tove", 0)
		s.must(err)
		got := s.reload(inv)
		checked := got.Refunds[0]
		if got.State.Has(invoice.RefundInTrouble) || got.NeedsDecision() || checked.InTrouble() || checked.Trouble != invoice.RefundDouble || checked.Checked.By != "Tove" {
			t.Errorf("after: %v, needs a decision %t, refund %+v", got.State.Exceptions, got.NeedsDecision(), checked)
		}
		if _, err := s.service.CheckRefund(t.Context(), inv.ID, r.ID, "Tove", 0); !errors.Is(err, invoice.ErrState) {
			t.Errorf("again: %v, want %v", err, invoice.ErrState)
		}
		_, err = s.store.UpdateInvoice(t.Context(), inv.ID, invoice.Lease{}, func(inv *invoice.Invoice) error {
			inv.Refunds[0].Trouble = invoice.RefundReplaced
			inv.State = inv.Evaluate()
			return nil
		})
		s.must(err)
		if got := s.reload(inv); !got.State.Has(invoice.RefundInTrouble) {
			t.Errorf("another trouble raises %v", got.State.Exceptions)
		}
	})
}

// A trouble of the same kind with another transaction raises the exception again.
func TestCheckRefund_does_not_cover_another_transaction(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		inv := s.latePaid("0.0005")
		r := s.ready(inv, "0.0005", shopperBTC)
		for _, amount := range []string{"0.00003", "0.00004"} {
			wrong := s.payRefund(inv, r, amount)
			_, err := s.service.SendRefund(t.Context(), inv.ID, r.ID, wrong, "Tove", 0)
			s.must(err)
			s.step()
			s.wantRefund(inv, r.ID, invoice.RefundSent, wrong, invoice.RefundWrongAmount)
			if !s.reload(inv).State.Has(invoice.RefundInTrouble) {
				t.Errorf("%s raises no exception", amount)
			}
			_, err = s.service.CheckRefund(t.Context(), inv.ID, r.ID, "Tove", 0)
			s.must(err)
		}
	})
}

// Two shoppers may have the same address, for example at an exchange.
func TestRefunds_of_two_invoices_to_one_address_need_two_transfers(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		one, two := s.latePaid("0.0005"), s.latePaid("0.0005")
		a, b := s.ready(one, "0.0002", shopperBTC), s.ready(two, "0.0002", shopperBTC)
		first := s.payRefund(one, a, "0.0002")
		s.confirmTx(first)
		paid := 0
		for _, r := range []invoice.Refund{s.reload(one).Refunds[0], s.reload(two).Refunds[0]} {
			if r.State == invoice.RefundConfirmed {
				paid++
			} else if r.State != invoice.RefundReady {
				t.Errorf("the other refund is %s", r.State)
			}
		}
		if paid != 1 {
			t.Fatalf("one transfer paid %d refunds", paid)
		}
		second := s.payRefund(two, b, "0.0002")
		s.confirmTx(second)
		for _, r := range []invoice.Refund{s.reload(one).Refunds[0], s.reload(two).Refunds[0]} {
			if r.State != invoice.RefundConfirmed || r.Trouble != "" {
				t.Errorf("after two transfers: %s, %q", r.State, r.Trouble)
			}
		}
	})
}

// A transaction pays the refund for which the merchant states it, also if another refund has the same address and amount.
func TestRefund_is_paid_by_the_transaction_that_is_stated_for_it(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		one, two := s.latePaid("0.0005"), s.latePaid("0.0005")
		a, b := s.ready(one, "0.0002", shopperBTC), s.ready(two, "0.0002", shopperBTC)
		m, _ := one.Method(simnet.ID, "BTC")
		tx, err := s.net.Pay(t.Context(), m.Asset, a.Script, btc("0.0002"))
		s.must(err)
		_, err = s.service.SendRefund(t.Context(), two.ID, b.ID, tx, "Tove", 0)
		s.must(err)
		s.step()
		s.wantRefund(one, a.ID, invoice.RefundReady, "", "")
		s.wantRefund(two, b.ID, invoice.RefundSent, tx, "")
		s.confirmTx(tx)
		s.wantRefund(one, a.ID, invoice.RefundReady, "", "")
		s.wantRefund(two, b.ID, invoice.RefundConfirmed, tx, "")
	})
}

func TestRefund_paid_again_after_days_is_in_trouble(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		inv := s.latePaid("0.0005")
		r := s.ready(inv, "0.0002", shopperBTC)
		first := s.payRefund(inv, r, "0.0002")
		s.confirmTx(first)
		for range 20 { // blocks, until the cursor is above the first payment
			other := s.create("40")
			s.confirmTx(s.pay(other, "BTC", "0.0005"))
		}
		s.clock.Advance(7 * 24 * time.Hour)
		s.payRefund(inv, r, "0.0002")
		s.wantRefund(inv, r.ID, invoice.RefundConfirmed, first, invoice.RefundDouble)
	})
}

// A source that is behind, or that does not show a transfer, says nothing about a payment in a block.
func TestRefund_stays_confirmed_if_a_scan_does_not_show_it(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		inv := s.latePaid("0.0005")
		r := s.ready(inv, "0.0002", shopperBTC)
		tx := s.payRefund(inv, r, "0.0002")
		s.confirmTx(tx)
		s.hidden = tx
		s.step()
		s.wantRefund(inv, r.ID, invoice.RefundConfirmed, tx, "")
	})
}

func TestRefund_may_be_paid_before_it_is_renewed(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		inv := s.latePaid("0.0005")
		_, made, err := s.refund(inv, invoice.RefundDraft{Kind: invoice.RefundPart, Fiat: money.MustParse("20", money.EUR), Address: shopperBTC})
		s.must(err)
		m, _ := inv.Method(simnet.ID, "BTC")
		s.clock.Advance(time.Hour)
		tx, err := s.net.Pay(t.Context(), m.Asset, made.Script, made.Amount)
		s.must(err)
		s.clock.Advance(24 * time.Hour)
		s.setRates(strings.Replace(table, "BTC-EUR=80000", "BTC-EUR=100000", 1))
		_, err = s.service.RenewRefund(t.Context(), inv.ID, made.ID, "Tove", 0)
		s.must(err)
		s.step()
		s.wantRefund(inv, made.ID, invoice.RefundSent, tx, "")
	})
}

// One transaction of the merchant's wallet may pay two refunds to one address, in two outputs.
func TestRefunds_to_one_address_may_be_paid_by_one_transaction(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		one, two := s.latePaid("0.0005"), s.latePaid("0.0005")
		a, b := s.ready(one, "0.0002", shopperBTC), s.ready(two, "0.0002", shopperBTC)
		c := s.ready(two, "0.0002", shopperBTC)
		m, _ := one.Method(simnet.ID, "BTC")
		out := simnet.OutputTo(m.Asset, a.Script, btc("0.0002"))
		tx, err := s.net.Send(t.Context(), simnet.Tx{Outputs: []simnet.Output{out, out, out}})
		s.must(err)
		s.step()
		s.confirmTx(tx)
		s.wantRefund(one, a.ID, invoice.RefundConfirmed, tx, "")
		s.wantRefund(two, b.ID, invoice.RefundConfirmed, tx, "")
		s.wantRefund(two, c.ID, invoice.RefundConfirmed, tx, "")
		d := s.ready(one, "0.0001", shopperBTC)
		if _, err := s.service.SendRefund(t.Context(), one.ID, d.ID, tx, "Tove", 0); !errors.Is(err, invoice.ErrUsedTransaction) {
			t.Errorf("the transaction stated for a further refund: %v", err)
		}
	})
}

// A refund of an invoice whose rows are damaged does not stop the scans.
func TestRefund_of_an_unreadable_invoice_is_left_out(t *testing.T) {
	storagetest.OnBoth(t, func(t *testing.T, store *storage.Storage, url string) {
		s := openShopOn(t, table, store)
		broken, inv := s.latePaid("0.0005"), s.latePaid("0.0005")
		a, b := s.ready(broken, "0.0002", otherBTC), s.ready(inv, "0.0002", shopperBTC)
		storagetest.Exec(t, url, "UPDATE refunds SET amount = 'many' WHERE invoice_id = '"+broken.ID+"'")
		s.payRefund(broken, a, "0.0002")
		tx := s.payRefund(inv, b, "0.0002")
		s.wantRefund(inv, b.ID, invoice.RefundSent, tx, "")
	})
}

func TestRefund_that_is_replaced_by_another_payment_stays_sent(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		inv := s.latePaid("0.0005")
		r := s.ready(inv, "0.0003", shopperBTC)
		m, _ := inv.Method(simnet.ID, "BTC")
		send := func() string {
			out := simnet.OutputTo(m.Asset, r.Script, btc("0.0003"))
			tx, err := s.net.Send(t.Context(), simnet.Tx{Spends: []string{strings.Repeat("c", 64) + ":0"}, Outputs: []simnet.Output{out}})
			s.must(err)
			s.step()
			return tx
		}
		first := send()
		s.wantRefund(inv, r.ID, invoice.RefundSent, first, "")
		bumped := send()
		s.wantRefund(inv, r.ID, invoice.RefundSent, bumped, "")
		s.confirmTx(bumped)
		s.wantRefund(inv, r.ID, invoice.RefundConfirmed, bumped, "")
	})
}

func TestRefund_whose_payment_disappears_is_ready_again(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		inv := s.latePaid("0.0005")
		r := s.ready(inv, "0.0003", shopperBTC)
		tx := s.payRefund(inv, r, "0.0003")
		s.must(s.net.Replace(t.Context(), tx))
		s.step()
		got := s.wantRefund(inv, r.ID, invoice.RefundReady, "", "")
		if got.Payment != nil || !got.Sent.At.IsZero() {
			t.Errorf("after the payment disappeared: %+v", got)
		}
		m, _ := inv.Method(simnet.ID, "BTC")
		next, err := s.net.Pay(t.Context(), m.Asset, r.Script, btc("0.0003"))
		s.must(err)
		_, err = s.service.SendRefund(t.Context(), inv.ID, r.ID, next, "Tove", 0)
		s.must(err)
		s.step()
		s.must(s.net.Replace(t.Context(), next))
		s.step()
		s.wantRefund(inv, r.ID, invoice.RefundSent, next, invoice.RefundReplaced)
	})
}

func TestRefund_whose_block_leaves_the_chain_is_not_confirmed(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		inv := s.latePaid("0.0005")
		r := s.ready(inv, "0.0003", shopperBTC)
		tx := s.payRefund(inv, r, "0.0003")
		s.confirmTx(tx)
		s.wantRefund(inv, r.ID, invoice.RefundConfirmed, tx, "")
		s.must(s.net.Reorganise(t.Context(), []string{tx}))
		s.step()
		s.wantRefund(inv, r.ID, invoice.RefundSent, tx, "")
		s.confirmTx(tx)
		s.wantRefund(inv, r.ID, invoice.RefundConfirmed, tx, "")
		s.must(s.net.Reorganise(t.Context(), []string{tx}))
		s.must(s.net.Replace(t.Context(), tx))
		s.step()
		got := s.wantRefund(inv, r.ID, invoice.RefundReady, "", invoice.RefundReplaced)
		if got.Payment != nil {
			t.Errorf("the refund has the payment %+v", got.Payment)
		}
	})
}

// A wallet may pay the amount that was held before the refund was renewed.
func TestRefund_may_be_paid_with_its_former_amount(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		inv := s.latePaid("0.0005")
		draft := invoice.RefundDraft{Kind: invoice.RefundPart, Fiat: money.MustParse("20", money.EUR), Address: shopperBTC}
		inv, made, err := s.refund(inv, draft)
		s.must(err)
		s.setRates(strings.Replace(table, "BTC-EUR=80000", "BTC-EUR=100000", 1))
		inv, err = s.service.RenewRefund(t.Context(), inv.ID, made.ID, "Tove", 0)
		s.must(err)
		tx := s.payRefund(inv, inv.Refunds[0], made.Amount.String())
		got := s.wantRefund(inv, made.ID, invoice.RefundSent, tx, "")
		if !got.Amount.Equal(made.Amount) {
			t.Errorf("the refund is of %s, want %s, which was paid", got.Amount, made.Amount)
		}
	})
}

func TestRefund_is_watched_for_a_month_after_it_was_sent(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		inv := s.latePaid("0.0005")
		r := s.ready(inv, "0.0002", shopperBTC)
		tx := s.payRefund(inv, r, "0.0002")
		s.confirmTx(tx)
		s.clock.Advance(31 * 24 * time.Hour)
		s.step()
		s.clock.Advance(2 * time.Hour)
		s.step()
		s.payRefund(inv, r, "0.0002")
		s.wantRefund(inv, r.ID, invoice.RefundConfirmed, tx, "")
	})
}
