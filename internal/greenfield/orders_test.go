package greenfield_test

import (
	"net/http"
	"testing"
	"time"

	"chequer/internal/invoice"
)

// A shop learns of 200 orders from the messages alone, and reads the invoice after each. The receiver is down for more
// than an hour, and blocks with payments are removed from the network. At the end every order is paid if and only if
// its money is confirmed, and no message arrived twice.
func TestOrders_of_a_shop_whose_receiver_was_down(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	f := newFixture(t, storageFile(t))
	shop, _ := newReceiver(t, f)
	const count = 200
	kinds := []string{"exact", "part", "over", "unpaid", "reorganised", "late"}
	kindOf := map[string]string{}
	var mined, removed []string
	for i := range count {
		id, kind := f.create(order).ID, kinds[i%len(kinds)]
		kindOf[id] = kind
		switch kind {
		case "exact":
			mined = append(mined, f.pay(id, whole))
		case "part":
			mined = append(mined, f.pay(id, half))
		case "over":
			mined = append(mined, f.pay(id, "0.02"))
		case "reorganised":
			removed = append(removed, f.pay(id, whole))
		}
	}
	f.confirm(removed...)
	shop.answer(http.StatusServiceUnavailable)
	statuses, received := map[string]string{}, map[string]int{} // by order, by message
	learn := func() {
		t.Helper()
		f.watch()
		if _, err := f.invoices.Expire(t.Context(), 1000); err != nil {
			t.Fatal(err)
		}
		for {
			f.deliver()
			messages := shop.take()
			for _, m := range messages {
				statuses[m.InvoiceID] = call[view](f, "GET", "/invoices/"+m.InvoiceID, "").Status
				received[m.OriginalDeliveryID]++
			}
			if len(messages) == 0 {
				return
			}
		}
	}
	learn()
	if err := f.simnet.Reorganise(t.Context(), removed); err != nil {
		t.Fatal(err)
	}
	f.watch()
	for _, tx := range removed {
		if err := f.simnet.Drop(t.Context(), tx); err != nil {
			t.Fatal(err)
		}
	}
	f.confirm(mined...)
	for range 8 {
		f.clock.Advance(10 * time.Minute)
		learn()
	}
	for id, kind := range kindOf {
		if kind == "late" {
			f.confirm(f.pay(id, half)) // too little, too late
		}
	}
	clear(statuses) // what the shop learned while it answered with an error is lost
	clear(received)
	shop.answer(http.StatusOK)
	for range 60 {
		f.clock.Advance(10 * time.Minute)
		learn()
	}
	for message, n := range received {
		if n != 1 {
			t.Errorf("message %s arrived %d times", message, n)
		}
	}
	for id, kind := range kindOf {
		inv, err := f.invoices.Invoice(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		isPaid := statuses[id] == "Settled"
		if isPaid != (inv.State.Status == invoice.Paid) || isPaid != (kind == "exact" || kind == "over") {
			t.Errorf("order %s: the shop has the status %q, the invoice is %s, want both paid only if the price was received", kind, statuses[id], inv.State.Status)
		}
	}
}
