package datadir_test

import (
	"testing"

	"chequer/internal/account"
	"chequer/internal/app"
	"chequer/internal/audit"
)

// A restore brings back an older audit log. It is complete, and its next entry is the restore. Links
// that may have been used since the backup are not valid any more.
func TestRestore_continues_the_audit_log(t *testing.T) {
	t.Parallel()
	c := settings(t, "")
	core := open(t, c)
	shop, err := core.FirstShop(t.Context(), c, app.Options{})
	if err != nil {
		t.Fatal(err)
	}
	link, err := core.Desk.Invite(t.Context(), map[string]account.Role{shop.ID: account.Owner})
	if err != nil {
		t.Fatal(err)
	}
	path := backUp(t, c)
	for range 5 { // entries after the backup
		if err := core.Storage.Record(t.Context(), audit.Change{Action: "key.created"}); err != nil {
			t.Fatal(err)
		}
	}
	before, err := core.Storage.VerifyAuditLog(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	// The database was lost, but the data directory was not.
	restoredConfig := c
	restoredConfig.DatabaseURL = "sqlite:" + t.TempDir() + "/chequer.db"
	if _, err := restore(t, restoredConfig, path); err != nil {
		t.Fatal(err)
	}
	restored := open(t, restoredConfig)
	head, err := restored.Storage.VerifyAuditLog(t.Context())
	if err != nil || head.Number != before.Number-5+1 {
		t.Errorf("verified up to %d, error %v, want %d", head.Number, err, before.Number-5+1)
	}
	entries, err := restored.Storage.AuditLog(t.Context(), 0, 1)
	if err != nil || len(entries) != 1 || entries[0].Change.Action != "backup.restored" {
		t.Errorf("newest entry: %+v, error %v", entries, err)
	}
	if _, _, err := restored.Desk.Ticket(t.Context(), link.Token); err == nil {
		t.Error("a link of the backup is valid")
	}
}
