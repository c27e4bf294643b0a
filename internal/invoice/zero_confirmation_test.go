package invoice_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/simnet"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
)

// createCapped creates an invoice over an amount of euro with a zero-confirmation cap in euro for Bitcoin.
func (s *shop) createCapped(merchantID, amount string, euros int64) *invoice.Invoice {
	s.t.Helper()
	r := s.request(amount, "BTC")
	r.MerchantID, r.ZeroConfirmationCents = merchantID, map[string]int64{"BTC": euros * 100}
	inv, err := s.service.Create(s.t.Context(), r)
	s.must(err)
	return inv
}

// sendTo puts one transaction that pays amounts in BTC to invoices into the mempool.
func (s *shop) sendTo(amount string, all ...*invoice.Invoice) (tx string) {
	s.t.Helper()
	var out simnet.Tx
	for _, inv := range all {
		m := inv.Methods[0]
		out.Outputs = append(out.Outputs, simnet.OutputTo(m.Asset, m.Destination.Script, money.MustParse(amount, money.BTC)))
	}
	tx, err := s.net.Send(s.t.Context(), out)
	s.must(err)
	return tx
}

// An unconfirmed payment counts as confirmed only up to the cap, if it is firm and the coverage is complete. One bitcoin
// is 80,000 euro.
func TestZeroConfirmation_counts_firm_payments_up_to_the_cap(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		pay  func(s *shop) *invoice.Invoice // returns the invoice to check
		want invoice.Status
	}{
		{"no cap", func(s *shop) *invoice.Invoice {
			inv := s.createCapped("m", "40", 0)
			s.pay(inv, "BTC", "0.0005")
			return inv
		}, invoice.Pending},
		{"at the cap", func(s *shop) *invoice.Invoice {
			inv := s.createCapped("m", "40", 40)
			s.pay(inv, "BTC", "0.0005")
			return inv
		}, invoice.Paid},
		{"an invoice above the cap", func(s *shop) *invoice.Invoice {
			inv := s.createCapped("m", "40.01", 40)
			s.pay(inv, "BTC", "0.00050013")
			return inv
		}, invoice.Pending},
		{"parts below the cap of an invoice above it", func(s *shop) *invoice.Invoice {
			inv := s.createCapped("m", "60", 40)
			s.pay(inv, "BTC", "0.0005")
			s.pay(inv, "BTC", "0.00025")
			return inv
		}, invoice.Pending},
		{"more than the price, above the cap", func(s *shop) *invoice.Invoice {
			inv := s.createCapped("m", "40", 50)
			s.pay(inv, "BTC", "0.0007")
			return inv
		}, invoice.Pending},
		{"a second output of the transaction exceeds the cap", func(s *shop) *invoice.Invoice {
			inv := s.createCapped("m", "40", 50)
			s.send(nil, inv, "0.0005", "0.0005")
			return inv
		}, invoice.Pending},
		{"another invoice in the transaction exceeds the cap", func(s *shop) *invoice.Invoice {
			inv := s.createCapped("m", "40", 50)
			s.sendTo("0.0005", inv, s.createCapped("m", "40", 50))
			return inv
		}, invoice.Pending},
		{"an invoice of another merchant in the transaction", func(s *shop) *invoice.Invoice {
			inv := s.createCapped("m", "40", 50)
			s.must(s.store.CreateShop(t.Context(), merchant.NewShop{Merchant: merchant.Merchant{ID: "n", Name: "Shop n", CreatedAt: noon}}))
			s.sendTo("0.0005", inv, s.createCapped("n", "40", 50))
			return inv
		}, invoice.Paid},
		{"another coin has no cap", func(s *shop) *invoice.Invoice {
			r := s.request("40", "LTC")
			r.ZeroConfirmationCents = map[string]int64{"BTC": 50_00}
			inv, err := s.service.Create(t.Context(), r)
			s.must(err)
			s.pay(inv, "LTC", "0.5")
			return inv
		}, invoice.Pending},
		{"replaceable, or below the least fee rate, or with an unconfirmed input", func(s *shop) *invoice.Invoice {
			s.notFirm = true
			inv := s.createCapped("m", "40", 50)
			s.pay(inv, "BTC", "0.0005")
			return inv
		}, invoice.Pending},
		{"firm from the second scan on", func(s *shop) *invoice.Invoice {
			s.notFirm = true
			inv := s.createCapped("m", "40", 50)
			s.pay(inv, "BTC", "0.0005")
			s.wantStatus(inv, invoice.Pending)
			s.notFirm = false
			return inv
		}, invoice.Paid},
		{"partial coverage, as that of the light client", func(s *shop) *invoice.Invoice {
			s.partial = true
			inv := s.createCapped("m", "40", 50)
			s.pay(inv, "BTC", "0.0005")
			return inv
		}, invoice.Pending},
		{"complete coverage from the second scan on", func(s *shop) *invoice.Invoice {
			s.partial = true
			inv := s.createCapped("m", "40", 50)
			s.pay(inv, "BTC", "0.0005")
			s.wantStatus(inv, invoice.Pending)
			s.partial = false
			return inv
		}, invoice.Paid},
		{"a payment that replaces another one", func(s *shop) *invoice.Invoice {
			inv := s.createCapped("m", "40", 50)
			s.send([]string{"coin:0"}, inv, "0.0001")
			s.wantStatus(inv, invoice.Pending, invoice.Underpaid)
			s.send([]string{"coin:0"}, inv, "0.0005")
			return inv
		}, invoice.Pending},
		{"two payments", func(s *shop) *invoice.Invoice {
			inv := s.createCapped("m", "40", 50)
			s.pay(inv, "BTC", "0.0003")
			s.wantStatus(inv, invoice.Pending, invoice.Underpaid)
			s.pay(inv, "BTC", "0.0002")
			return inv
		}, invoice.Paid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t, table)
			s.clock.Advance(time.Minute)
			inv := s.wantStatus(tt.pay(s), tt.want)
			for _, p := range inv.Payments() {
				if p.Instant != (tt.want == invoice.Paid) {
					t.Errorf("payment %s: instant is %t, want %t", p.ID, p.Instant, !p.Instant)
				}
			}
			s.wantStatus(inv, tt.want) // a repeated scan changes nothing
		})
	}
}

// An invoice that is paid without a confirmation reverts if the payment disappears. A payment that spends the same outpoint again
// waits for a block.
func TestZeroConfirmation_reverts(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		for name, gone := range map[string]func(tx string) error{
			"replaced": func(tx string) error { return s.net.Replace(t.Context(), tx) },
			"vanished": func(tx string) error { return s.net.Drop(t.Context(), tx) },
		} {
			inv := s.createCapped("m", "40", 50)
			s.clock.Advance(time.Minute)
			tx := s.send([]string{name + ":0"}, inv, "0.0005")
			inv = s.wantStatus(inv, invoice.Paid)
			if inv.State.PaidTx != tx {
				t.Errorf("%s: paid by %q, want %q", name, inv.State.PaidTx, tx)
			}
			s.must(gone(tx))
			s.wantStatus(inv, invoice.Created, invoice.WasReplaced)
			again := s.send([]string{name + ":0"}, inv, "0.0005") // a new transaction with the same outpoint
			inv = s.wantStatus(inv, invoice.Pending)
			s.mine(again)
			s.wantStatus(inv, invoice.Paid)
			s.wantEvents(inv, "1 invoice.created created", "2 payment.seen paid", "2 payment.confirmed paid", "2 invoice.paid paid",
				"3 payment.replaced created", "3 invoice.reverted created", "3 exception.raised created", "4 payment.seen pending", "4 invoice.pending pending",
				"5 payment.confirmed paid", "5 invoice.paid paid")
		}
	})
}

// A transfer that was gone waits for its block if it returns, also if it becomes firm only then.
func TestZeroConfirmation_after_a_transfer_that_was_gone_returns(t *testing.T) {
	t.Parallel()
	for name, isGone := range map[string]bool{"firm from the second scan on": false, "firm after it was gone": true} {
		s := openShop(t, table)
		inv := s.createCapped("m", "40", 50)
		transfer := chain.Transfer{ID: "a:0", Tx: "a", Asset: "BTC", Amount: inv.Quotes[0].Prices[0].Expected, Spends: []string{"coin:0"}}
		observe := func(shown ...chain.Transfer) {
			s.clock.Advance(time.Minute)
			inv.Observe(invoice.Observation{
				Network: inv.Methods[0].Asset.Network, Transfers: shown, Instant: map[string]bool{"a:0": true},
				Snapshot: chain.Snapshot{Started: s.clock.Now(), Unconfirmed: chain.Complete},
			})
		}
		observe(transfer)
		if isGone {
			observe()
			observe(transfer)
		}
		transfer.Firm = true
		observe(transfer)
		if got := inv.Transfers[0]; got.Presence != invoice.Present || got.Instant == isGone {
			t.Errorf("%s: the transfer is %s, instant is %t, want %t", name, got.Presence, got.Instant, !isGone)
		}
	}
}

// A payment that counts without a confirmation still counts in its block, before the block is deep enough, and after the time limit
// for the first confirmation. If the block leaves the chain, the payment no longer counts.
func TestZeroConfirmation_in_a_block(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	r := s.request("40", "BTC")
	r.ZeroConfirmationCents, r.DepthSteps = map[string]int64{"BTC": 50_00}, 1
	inv, err := s.service.Create(t.Context(), r)
	s.must(err)
	s.clock.Advance(time.Minute)
	tx := s.pay(inv, "BTC", "0.0005")
	paidAt := s.wantStatus(inv, invoice.Paid).State.PaidAt
	s.clock.Advance(48 * time.Hour)
	s.mine()
	_, err = s.service.MoveClock(t.Context(), inv.ID, time.Second) // evaluates the invoice
	s.must(err)
	s.wantStatus(inv, invoice.Paid)
	s.mine(tx)
	inv = s.wantStatus(inv, invoice.Paid)
	if got := inv.Transfers[0]; got.Confirmations != 1 || got.Required != 2 || got.Final() || !inv.State.PaidAt.Equal(paidAt) {
		t.Errorf("in a block: %d of %d confirmations, paid at %s, want 1 of 2 and %s", got.Confirmations, got.Required, inv.State.PaidAt, paidAt)
	}
	s.mine()
	if inv = s.wantStatus(inv, invoice.Paid); !inv.Transfers[0].Final() {
		t.Errorf("with two confirmations: got %+v, want a final transfer", inv.Transfers[0])
	}
	s.must(s.net.Reorganise(t.Context(), []string{tx}))
	inv = s.reload(inv)
	s.step()
	inv = s.reload(inv)
	if inv.State.Status == invoice.Paid || !inv.State.Has(invoice.WasReorged) {
		t.Errorf("after a reorganisation the invoice is %s %v, want another status than paid, with the exception reorged", inv.State.Status, inv.State.Exceptions)
	}
}

// Money that is not final cannot be refunded and is no surplus.
func TestZeroConfirmation_is_not_refunded(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	inv := s.createCapped("m", "40", 50)
	s.clock.Advance(time.Minute)
	tx := s.pay(inv, "BTC", "0.0006")
	inv = s.wantStatus(inv, invoice.Paid)
	balance := func() string {
		b := inv.Evaluation().Balances()
		return strings.TrimSpace(fmt.Sprint(b[0].Received, " ", b[0].Surplus, " ", inv.State.Overpaid, " ", inv.Evaluation().MayRefund(b[0])))
	}
	if got, want := balance(), "0 0 0 false"; got != want {
		t.Errorf("before a block: received, surplus, overpaid, refundable: got %s, want %s", got, want)
	}
	s.mine(tx)
	inv = s.wantStatus(inv, invoice.Paid, invoice.Overpaid)
	if got, want := balance(), "0.0006 0.0001 8 true"; got != want {
		t.Errorf("in a block: received, surplus, overpaid, refundable: got %s, want %s", got, want)
	}
}

// An invoice keeps the cap with which it was created, also in storage.
func TestZeroConfirmation_is_frozen(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		capped, later := s.createCapped("m", "40", 50), s.createCapped("m", "40", 0)
		s.clock.Advance(time.Minute)
		s.pay(capped, "BTC", "0.0005")
		s.pay(later, "BTC", "0.0005")
		s.wantStatus(capped, invoice.Paid)
		s.wantStatus(later, invoice.Pending)
		if got := s.reload(capped).Methods[0].Asset.Policy.ZeroConfirmationCents; got != 50_00 {
			t.Errorf("the stored cap is %d cents, want 5000", got)
		}
	})
}
