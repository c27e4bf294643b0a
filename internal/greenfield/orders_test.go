package greenfield_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/invoice"
)

// shopOrders are the orders of a shop that reads an invoice only when it receives a message about it.
type shopOrders struct {
	f        *fixture
	receiver *receiver
	kinds    map[string]string // by invoice
	statuses map[string]string // that the shop read last, by invoice
	accepted map[subject]int   // number of messages that the shop accepted
	arrived  map[string]int    // number of accepted messages by OriginalDeliveryID
}

// subject names the kind of a message, its invoice and its payment. payment is "" unless it is about a payment.
type subject struct{ kind, invoice, payment string }

// receive scans the network, expires invoices, and delivers messages until none is due. isUp states whether the shop accepts
// messages.
func (o *shopOrders) receive(isUp bool) {
	o.f.t.Helper()
	o.f.watch()
	if _, err := o.f.invoices.Expire(o.f.t.Context(), 1000); err != nil {
		o.f.t.Fatal(err)
	}
	for {
		o.f.deliver()
		messages := o.receiver.take()
		for _, m := range messages {
			if !isUp {
				continue // the shop failed while it handled the message
			}
			o.statuses[m.InvoiceID] = call[view](o.f, "GET", "/invoices/"+m.InvoiceID, "").Status
			o.arrived[m.OriginalDeliveryID]++
			about := subject{kind: m.Type, invoice: m.InvoiceID}
			if m.Payment != nil {
				about.payment = m.Payment.ID
			}
			o.accepted[about]++
		}
		if len(messages) == 0 {
			return
		}
	}
}

// orderKinds are the kinds of orders, each with the status in which it ends.
var orderKinds = []struct{ kind, want string }{
	{"exact", "Settled"}, {"part", "Expired"}, {"over", "Settled"}, {"unpaid", "Expired"}, {"reorganised", "Invalid"}, {"mined again", "Settled"}, {"late", "Expired"},
	{"two parts", "Settled"}, {"replaced", "Expired"}, {"declined", "Invalid"},
}

// A shop has 200 orders. Its receiver is down for more than an hour, and blocks with payments are removed from the
// network. At the end every order is paid if and only if its money is confirmed, and no message arrived twice.
func TestOrders_of_a_shop_whose_receiver_was_down(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	f := newFixture(t, storageFile(t))
	shop, _ := newReceiver(t, f)
	o := &shopOrders{f, shop, map[string]string{}, map[string]string{}, map[subject]int{}, map[string]int{}}
	const count = 200
	var before, during, removed, again, late []string // transactions
	for i := range count {
		id, kind := f.create(order).ID, orderKinds[i%len(orderKinds)].kind
		o.kinds[id] = kind
		switch kind {
		case "exact":
			during = append(during, f.pay(id, whole))
		case "part":
			during = append(during, f.pay(id, half))
		case "over":
			before = append(before, f.pay(id, "0.02"))
		case "two parts":
			before, during = append(before, f.pay(id, half)), append(during, f.pay(id, half))
		case "reorganised":
			removed = append(removed, f.pay(id, whole))
		case "mined again":
			again = append(again, f.pay(id, whole))
		case "replaced":
			if err := f.simnet.Replace(t.Context(), f.pay(id, whole)); err != nil {
				t.Fatal(err)
			}
		case "declined":
			call[view](f, "POST", "/invoices/"+id+"/status", `{"status":"Invalid"}`)
		case "late":
			late = append(late, id)
		}
	}
	o.receive(true)
	shop.answer(http.StatusServiceUnavailable)
	f.confirm(append(append(before, removed...), again...)...)
	f.confirm() // many payments in one block need twice as many
	o.receive(false)
	if err := f.simnet.Reorganise(t.Context(), append(removed, again...)); err != nil {
		t.Fatal(err)
	}
	f.watch()
	for _, tx := range removed {
		if err := f.simnet.Drop(t.Context(), tx); err != nil {
			t.Fatal(err)
		}
	}
	f.confirm(append(during, again...)...)
	for range 8 {
		f.clock.Advance(10 * time.Minute)
		o.receive(false)
	}
	for _, id := range late {
		f.confirm(f.pay(id, half)) // too little, too late
	}
	shop.answer(http.StatusOK)
	for range 60 {
		f.clock.Advance(10 * time.Minute)
		o.receive(true)
	}
	o.check(count)
}

// check fails unless the statuses that the shop read last are those of its invoices, and no message arrived twice.
func (o *shopOrders) check(count int) {
	t := o.f.t
	t.Helper()
	for message, n := range o.arrived {
		if n != 1 {
			t.Errorf("message %s arrived %d times", message, n)
		}
	}
	for about, n := range o.accepted {
		kind := o.kinds[about.invoice]
		isReverted := kind == "reorganised" || kind == "mined again" // such an invoice reaches a status twice
		if n != 1 && !(isReverted && about.payment == "") {
			t.Errorf("%s of an order %q arrived %d times", about.kind, kind, n)
		}
	}
	wants, got := map[string]map[string]int{}, map[string]map[string]int{}
	for _, k := range orderKinds {
		wants[k.kind], got[k.kind] = map[string]int{k.want: count / len(orderKinds)}, map[string]int{}
	}
	for id, kind := range o.kinds {
		inv, err := o.f.invoices.Invoice(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if isPaid := o.statuses[id] == "Settled"; isPaid != (inv.State.Status == invoice.Paid) {
			t.Errorf("order %q: the shop has the status %q, the invoice is %s, want both paid or none", kind, o.statuses[id], inv.State.Status)
		}
		got[kind][o.statuses[id]]++
	}
	if diff := cmp.Diff(wants, got); diff != "" {
		t.Errorf("statuses of the orders (-want +got):\n%s", diff)
	}
}
