package greenfield_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/chain/simnet"
	"chequer/internal/greenfield"
	"chequer/internal/invoice"
	"chequer/internal/watcher"
)

// hidingNetwork is the simulated network without the transactions in hidden.
type hidingNetwork struct {
	*simnet.Network
	hidden map[string]bool
}

// Scan implements chain.Scanner.
func (n *hidingNetwork) Scan(ctx context.Context, from chain.Cursor, watched chain.Watched) (chain.Snapshot, error) {
	s, err := n.Network.Scan(ctx, from, watched)
	s.Transfers = slices.DeleteFunc(s.Transfers, func(t chain.Transfer) bool { return n.hidden[t.Tx] })
	return s, err
}

// applySteps applies steps to an invoice. A step is a word; "pay" has an amount in BTC. The step "hide" adds to hidden.
func (f *fixture) applySteps(id string, hidden map[string]bool, steps ...string) {
	f.t.Helper()
	var txs []string
	last := func() string { return txs[len(txs)-1] }
	for _, step := range steps {
		name, amount, _ := strings.Cut(step, " ")
		var err error
		switch name {
		case "pay":
			txs = append(txs, f.pay(id, amount))
			f.clock.Advance(time.Second)
		case "confirm":
			f.confirm(txs...)
		case "replace":
			err = f.simnet.Replace(f.t.Context(), last())
		case "hide":
			hidden[last()] = true
		case "show":
			clear(hidden)
		case "reorganise":
			err = f.simnet.Reorganise(f.t.Context(), txs)
		case "expire":
			f.expire()
		case "requote":
			_, err = f.invoices.Requote(f.t.Context(), id, invoice.Merchant, 0)
		case "decline":
			call[view](f, "POST", "/invoices/"+id+"/status", `{"status":"Invalid"}`)
		default:
			f.t.Fatalf("unknown step %q", step)
		}
		if err != nil {
			f.t.Fatalf("%s: %v", step, err)
		}
		f.watch()
	}
}

// A message about a payment is sent only if the payments cover the price, or after the expiry, and once for each
// payment: some plug-ins treat it as the payment of the full price.
func TestMessages_about_payments_are_sent_once_and_not_for_a_part(t *testing.T) {
	t.Parallel()
	const seen, confirmed = "InvoiceReceivedPayment", "InvoicePaymentSettled"
	for name, tt := range map[string]struct {
		steps string
		want  []string // the types, with the numbers of the payments
	}{
		"nothing":                                  {"", nil},
		"a part":                                   {"pay 0.005", nil},
		"a part, confirmed":                        {"pay 0.005, confirm", nil},
		"the price":                                {"pay 0.01", []string{seen + " 1"}},
		"the price, confirmed":                     {"pay 0.01, confirm", []string{seen + " 1", confirmed + " 1"}},
		"more than the price":                      {"pay 0.02, confirm", []string{seen + " 1", confirmed + " 1"}},
		"two halves":                               {"pay 0.005, pay 0.005", []string{seen + " 1", seen + " 2"}},
		"two halves, the first confirmed before":   {"pay 0.005, confirm, pay 0.005", []string{seen + " 1", seen + " 2", confirmed + " 1"}},
		"a part, expired":                          {"pay 0.005, expire", []string{seen + " 1"}},
		"a part after the expiry":                  {"expire, pay 0.005, confirm", []string{seen + " 1", confirmed + " 1"}},
		"a part, declined":                         {"pay 0.005, expire, requote, decline", []string{seen + " 1"}},
		"declined":                                 {"decline", nil},
		"a part after the decline":                 {"decline, pay 0.005", nil},
		"a part after the decline, confirmed":      {"decline, pay 0.005, confirm", nil},
		"the price after the decline":              {"decline, pay 0.01", []string{seen + " 1"}},
		"the price after the decline, confirmed":   {"decline, pay 0.01, confirm", []string{seen + " 1", confirmed + " 1"}},
		"two halves after the decline, confirmed":  {"decline, pay 0.005, confirm, pay 0.005, confirm", []string{seen + " 1", seen + " 2", confirmed + " 1", confirmed + " 2"}},
		"a replaced half, paid again":              {"pay 0.005, pay 0.005, replace, pay 0.005, confirm", []string{seen + " 1", seen + " 2", seen + " 3", confirmed + " 1", confirmed + " 3"}},
		"a half that disappears and returns":       {"pay 0.005, pay 0.005, hide, show, confirm", []string{seen + " 1", seen + " 2", confirmed + " 1", confirmed + " 2"}},
		"a half that is hidden first":              {"pay 0.005, hide, pay 0.005, show, confirm", []string{seen + " 1", seen + " 2", confirmed + " 1", confirmed + " 2"}},
		"a part, expired, a new price, the rest":   {"pay 0.005, expire, requote, pay 0.005, confirm", []string{seen + " 1", seen + " 2", confirmed + " 1", confirmed + " 2"}},
		"a payment that is confirmed twice":        {"pay 0.01, confirm, reorganise, confirm", []string{seen + " 1", confirmed + " 1"}},
		"a late part, then the rest, both settled": {"pay 0.005, expire, pay 0.005, confirm", []string{seen + " 1", seen + " 2", confirmed + " 1", confirmed + " 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, storageFile(t))
			network := &hidingNetwork{f.simnet, map[string]bool{}}
			f.watcher = watcher.New(watcher.Config{
				Network: network, Storage: f.storage, Observer: f.invoices, Holder: "test", Every: time.Second, Now: f.clock.Now, Log: f.config.Log,
			})
			shop, _ := newReceiver(t, f, seen, confirmed)
			id := f.create(order).ID
			if tt.steps != "" {
				f.applySteps(id, network.hidden, strings.Split(tt.steps, ", ")...)
			}
			f.deliver()
			inv, err := f.invoices.Invoice(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			numbers := map[string]string{}
			for i, transfer := range inv.Transfers {
				numbers[strings.ReplaceAll(transfer.ID, ":", "-")] = string(rune('1' + i))
			}
			var got []string
			for _, m := range shop.take() {
				got = append(got, m.Type+" "+numbers[m.Payment.ID])
			}
			slices.Sort(got)
			slices.Sort(tt.want)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A change without an event in the feed can have messages: here a payment that disappeared and returns completes the price.
func TestMessages_do_not_need_an_event(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		network := &hidingNetwork{f.simnet, map[string]bool{}}
		f.watcher = watcher.New(watcher.Config{
			Network: network, Storage: f.storage, Observer: f.invoices, Holder: "test", Every: time.Second, Now: f.clock.Now, Log: f.config.Log,
		})
		shop, _ := newReceiver(t, f, "InvoiceProcessing")
		id := f.create(order).ID
		f.applySteps(id, network.hidden, "pay 0.005", "hide", "pay 0.005", "show")
		f.deliver()
		if diff := cmp.Diff([]string{"InvoiceProcessing"}, types(shop.take())); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// Transfers of invoices that are older than ToldReceived and ToldConfirmed have no marks. Messages that applied before a
// change were sent already.
func TestMessages_about_payments_without_marks_are_not_sent_again(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storageFile(t))
	id := f.create(order).ID
	f.confirm(f.pay(id, whole))
	before, after := f.invoice(id), f.invoice(id)
	for _, inv := range []*invoice.Invoice{before, after} {
		inv.Transfers[0].ToldReceived, inv.Transfers[0].ToldConfirmed = false, false
	}
	if got := greenfield.Messages(before, after, noon); len(got) != 0 || !after.Transfers[0].ToldReceived || !after.Transfers[0].ToldConfirmed {
		t.Errorf("got %d messages, transfer %+v, want none, and a transfer with both marks", len(got), after.Transfers[0])
	}
}
