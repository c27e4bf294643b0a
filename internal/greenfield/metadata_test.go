package greenfield_test

import (
	"testing"
	"time"
)

// Equal metadata and a second archiving change nothing, and write no entry of the audit log.
func TestSetMetadata_records_changes_only(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storageFile(t))
	id := f.create(order).ID
	count := func() int {
		log, err := f.storage.AuditLog(t.Context(), 0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		return len(log)
	}
	call[view](f, "PUT", "/invoices/"+id, `{"metadata":{"a":1}}`)
	before := count()
	for range 3 {
		call[view](f, "PUT", "/invoices/"+id, `{"metadata":{"a":1}}`)
		f.send("DELETE", "/invoices/"+id, f.token, "")
	}
	if n := count() - before; n != 1 {
		t.Errorf("%d entries of the audit log for 1 change", n)
	}
}

// After the retention period, an invoice has no metadata and is still found by its order ID.
func TestMetadata_that_were_removed(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		id := f.create(`{"amount":"864.20","currency":"EUR","metadata":{"orderId":"1042","buyerName":"Jane Doe"}}`).ID
		f.confirm(f.pay(id, whole))
		for done := false; !done; {
			var err error
			if done, err = f.storage.RemovePluginMetadata(t.Context(), 180, f.clock.Now().Add(182*24*time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		list := call[[]view](f, "GET", f.store("/invoices?orderId=1042"), "")
		if len(list) != 1 || list[0].ID != id || string(list[0].Metadata) != "{}" {
			t.Errorf("got %+v, want the invoice without metadata", list)
		}
	})
}
