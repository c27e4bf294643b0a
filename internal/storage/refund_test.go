package storage_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/audit"
	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/storage"
)

// newRefund returns a refund with a value in every field of its state.
func newRefund(id string, state invoice.RefundState) invoice.Refund {
	coin := money.Currency{Code: "WBTC", Decimals: 18}
	rate, err := money.ParseRate("86512.4", coin, money.EUR)
	if err != nil {
		panic(err)
	}
	marketRate := invoice.MarketRate{Source: "median", At: noon.Add(7 * time.Minute)}
	if marketRate.Price, err = money.ParseRate("86000.25", coin, money.EUR); err != nil {
		panic(err)
	}
	return invoice.Refund{
		ID: id, Kind: invoice.RefundPart, State: state, Network: "ethereum", Asset: "WBTC",
		Amount: money.MustParse("123456789012345678901.000000000000000001", coin), Rate: rate, Source: "median",
		Value: money.FromCents(14729, money.EUR), HeldUntil: noon.Add(24 * time.Hour), Address: "0x5a", Script: "5a", AddressBy: "Tove",
		AnsweredAt: noon.Add(30 * time.Second), EndedQuote: 2, Tx: "0x8f" + id, Reason: "returned goods",
		Asked: invoice.Mark{By: "shopper", At: noon}, Prepared: invoice.Mark{By: "Tove", At: noon.Add(time.Minute)},
		Sent: invoice.Mark{By: "Maren", At: noon.Add(2 * time.Minute)}, Closed: invoice.Mark{By: "key_a", At: noon.Add(3 * time.Minute)},
		CheckedTrouble: invoice.RefundReplaced, Checked: invoice.Mark{By: "Tove", At: noon.Add(6 * time.Minute)},
		MarketRate: marketRate,
		Trouble:    invoice.RefundDouble, FormerAmounts: []money.Amount{money.MustParse("1.5", coin), money.MustParse("2", coin)}, WatchUntil: noon.Add(time.Hour),
		Payment: &invoice.RefundPayment{
			ID: "pay" + id, FirstSeen: noon.Add(4 * time.Minute), Block: &chain.Block{Height: 7, Hash: "b7", Time: noon.Add(5 * time.Minute)}, Confirmations: 2, Required: 3,
		},
	}
}

func TestUpdateInvoice_keeps_refunds_and_the_kept_surplus(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		create(t, s, creation("a", "shop"))
		var want *invoice.Invoice
		for _, change := range []func(*invoice.Invoice){
			func(inv *invoice.Invoice) { inv.Refunds = append(inv.Refunds, newRefund("r1", invoice.RefundAsked)) },
			func(inv *invoice.Invoice) {
				bare := invoice.Refund{ID: "r2", State: invoice.RefundAsked, Asset: "BTC", Amount: money.Zero(money.BTC), Value: money.Zero(money.EUR), Asked: invoice.Mark{At: noon}}
				inv.Refunds = append(inv.Refunds, bare)
			},
			func(inv *invoice.Invoice) {
				inv.Refunds[0], inv.Refunds[1] = newRefund("r1", invoice.RefundSent), newRefund("r2", invoice.RefundDeclined)
				inv.Kept = invoice.KeptSurplus{Mark: invoice.Mark{By: "Tove", At: noon}, Amount: money.FromCents(691, money.EUR), Reason: "a tip"}
				inv.State.Decided, inv.State.RefundAsked = true, true
				inv.RefundAddress = invoice.RefundAddress{Asset: "BTC", Address: "tb1q", By: "key_page"}
			},
			func(inv *invoice.Invoice) {
				inv.Kept, inv.State.Decided, inv.State.RefundAsked = invoice.KeptSurplus{}, false, false
			},
		} {
			_, err := s.UpdateInvoice(t.Context(), "a", invoice.Lease{}, func(inv *invoice.Invoice) error {
				change(inv)
				want = inv
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			want.Revision++
			got, err := s.Invoice(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, same); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
	})
}

func TestRefunds_are_listed(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		states := []invoice.RefundState{invoice.RefundAsked, invoice.RefundReady, invoice.RefundReady, invoice.RefundSent}
		for i, state := range states {
			id := fmt.Sprint("i", i)
			c := creation(id, "shop")
			create(t, s, c)
			_, err := s.UpdateInvoice(t.Context(), id, invoice.Lease{}, func(inv *invoice.Invoice) error {
				r := newRefund(fmt.Sprint("r", i), state)
				r.Asked.At = noon.Add(time.Duration(i/2) * time.Minute) // two at a time
				inv.Refunds = []invoice.Refund{r}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, tt := range []struct {
			merchant string
			mode     invoice.Mode
			state    invoice.RefundState
			id       string
			want     []string
		}{
			{"shop", invoice.Live, "", "", []string{"r3", "r2", "r1", "r0"}},
			{"shop", invoice.Live, invoice.RefundReady, "", []string{"r2", "r1"}},
			{"shop", invoice.Live, invoice.RefundDeclined, "", nil},
			{"shop", invoice.Test, "", "", nil},
			{"other", invoice.Live, "", "", nil},
			{"shop", invoice.Live, "", "r1", []string{"r1"}},
			{"shop", invoice.Live, invoice.RefundSent, "r1", nil},
			{"other", invoice.Live, "", "r1", nil},
		} {
			var got []string
			var after invoice.Position
			for { // page by page
				page, err := s.Refunds(t.Context(), invoice.RefundFilter{MerchantID: tt.merchant, Mode: tt.mode, State: tt.state, ID: tt.id}, after, 1)
				if err != nil {
					t.Fatal(err)
				}
				if len(page) == 0 {
					break
				}
				if page[0].InvoiceID != "i"+page[0].ID[1:] || page[0].Value.Currency() != money.EUR {
					t.Errorf("refund %s has invoice %s and value %v", page[0].ID, page[0].InvoiceID, page[0].Value)
				}
				got, after = append(got, page[0].ID), page[0].Position()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%v (-want +got):\n%s", tt, diff)
			}
		}
	})
}

func TestDecided_invoice_needs_no_decision(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		create(t, s, creation("a", "shop"))
		for _, decided := range []bool{false, true, false} {
			_, err := s.UpdateInvoice(t.Context(), "a", invoice.Lease{}, func(inv *invoice.Invoice) error {
				inv.State.Exceptions, inv.State.Decided = []invoice.Exception{invoice.Overpaid}, decided
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			want := 1
			if decided {
				want = 0
			}
			list, err := s.Undecided(t.Context(), "shop", invoice.Live, noon, invoice.Position{}, 10)
			if err != nil || len(list) != want {
				t.Errorf("decided %t: %d invoices wait, error %v", decided, len(list), err)
			}
			tally, err := s.Tally(t.Context(), "shop", invoice.Live, noon)
			if err != nil || tally.NeedDecision != int64(want) {
				t.Errorf("decided %t: the tally is %d, error %v", decided, tally.NeedDecision, err)
			}
			rows, _, err := s.Summaries(t.Context(), invoice.Filter{MerchantID: "shop", Mode: invoice.Live}, invoice.Position{}, 10)
			if err != nil || rows[0].Decided != decided {
				t.Errorf("summary %+v, error %v", rows, err)
			}
		}
	})
}

// Several writers that add to the same refunds at the same time: each sees what the others wrote.
func TestRefunds_of_concurrent_writers_never_exceed_a_limit(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		create(t, s, creation("a", "shop"))
		full := errors.New("full")
		ctx := audit.WithActor(t.Context(), audit.Actor{Kind: audit.Account, ID: "acc_1", Name: "Tove"})
		var group sync.WaitGroup
		for i := range 12 {
			group.Go(func() {
				_, err := s.UpdateInvoice(ctx, "a", invoice.Lease{}, func(inv *invoice.Invoice) error {
					if len(inv.Refunds) == 5 {
						return full
					}
					inv.Refunds = append(slices.Clone(inv.Refunds), newRefund(fmt.Sprint("r", i), invoice.RefundReady))
					return nil
				})
				if err != nil && !errors.Is(err, full) {
					t.Error(err)
				}
			})
		}
		group.Wait()
		inv, err := s.Invoice(t.Context(), "a")
		if err != nil || len(inv.Refunds) != 5 {
			t.Errorf("%d refunds, error %v", len(inv.Refunds), err)
		}
		entries, err := s.AuditLog(t.Context(), math.MaxInt64, 100)
		entries = slices.DeleteFunc(entries, func(e audit.Entry) bool { return e.Change.Action != "invoice.changed" })
		if err != nil || len(entries) != 5 {
			t.Errorf("%d entries of the audit log, error %v", len(entries), err)
		}
	})
}
