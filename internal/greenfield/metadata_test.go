package greenfield_test

import "testing"

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
