package e2e_test

import (
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"chequer/internal/datadir"
)

// TestDesk_backup_is_restored_elsewhere downloads a backup at the desk, and restores it into another data directory.
func TestDesk_backup_is_restored_elsewhere(t *testing.T) {
	t.Parallel()
	desk := newFirstRunDesk(t)
	owner := newDeskClient(t, desk.link, "Maren")
	form := owner.read(deskShop+"/backup").Find("input[name=form]").AttrOr("value", "")
	response := owner.send(deskShop+"/backup", "form", form, "passphrase", deskPassword, "repeated", deskPassword)
	defer response.Body.Close()

	content, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s, error %v: %.200s", response.Status, err, content)
	}
	if log := owner.read(deskShop + "/log").Find("main").Text(); !strings.Contains(log, "Backup downloaded") {
		t.Errorf("the audit log does not have the backup: %s", log)
	}
	path := filepath.Join(t.TempDir(), "downloaded.backup")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	target := settings(t)
	restored, err := datadir.Restore(t.Context(), target, path, datadir.RestoreOptions{
		Passphrase: func() (string, error) { return deskPassword, nil }, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	if restored.Rows["merchants"] != 1 || restored.Rows["desk_accounts"] != 1 {
		t.Errorf("restored %v, want one merchant and one account", restored.Rows)
	}
}
