package desk_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"chequer/web/desk/settings"
)

// stubBackups writes files instead of backups.
type stubBackups struct {
	parent string // of the folders
	last   time.Time
	shops  []string
	err    error
	sent   int // number of backups that were sent as a whole
}

func (b *stubBackups) Last() (time.Time, error) { return b.last, nil }

func (b *stubBackups) Create(_ context.Context, passphrase string) (settings.Backup, error) {
	if len(passphrase) < 12 {
		return nil, settings.ErrPassphrase
	}
	if b.err != nil {
		return nil, b.err
	}
	folder, err := os.MkdirTemp(b.parent, "")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(folder, "chequer.backup")
	return stubBackup{path, b}, os.WriteFile(path, []byte("sealed with "+passphrase), 0o600)
}

// stubBackup is a file instead of a backup.
type stubBackup struct {
	path string
	made *stubBackups
}

func (b stubBackup) Path() string { return b.path }
func (b stubBackup) Sent() error  { b.made.sent++; return nil }
func (b stubBackup) Remove()      { os.RemoveAll(filepath.Dir(b.path)) }

func (b *stubBackups) Shops(context.Context) ([]string, error) { return b.shops, nil }

// folders returns the number of folders that were not removed.
func (b *stubBackups) folders(t *testing.T) int {
	t.Helper()
	left, err := os.ReadDir(b.parent)
	if err != nil {
		t.Fatal(err)
	}
	return len(left)
}

func TestBackup(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	const at = "/desk/shop/backup"
	const passphrase = "correct horse battery"
	b.get(at).want(http.StatusOK, "There was no backup yet.")
	f.backups.last = f.clock.Now().Add(-time.Hour)
	b.get(at).want(http.StatusOK, "Last backup:")

	got := b.send(at, "passphrase", "short", "repeated", "short").want(http.StatusUnprocessableEntity, "at least 12 characters")
	if text := got.find("#passphrase-error").Text(); text == "" {
		t.Error("there is no error at the passphrase")
	}
	got = b.send(at, "passphrase", passphrase, "repeated", "correct horse batterz").want(http.StatusUnprocessableEntity, "The two passphrases differ.")
	if strings.Contains(got.body, "battery") || strings.Contains(f.log.String(), "battery") {
		t.Error("the page or the log has the passphrase")
	}
	file := b.send(at, "passphrase", passphrase, "repeated", passphrase)
	if file.status != http.StatusOK || file.body != "sealed with "+passphrase || file.header.Get("Content-Disposition") != `attachment; filename="chequer.backup"` {
		t.Errorf("got %d %q, %v", file.status, file.body, file.header)
	}
	if f.backups.sent != 1 {
		t.Errorf("%d backups are recorded as sent, want 1", f.backups.sent)
	}
	f.clock.Advance(11 * time.Minute)
	if asked := b.send(at, "passphrase", passphrase, "repeated", passphrase).want(http.StatusForbidden, "Confirm it’s you"); strings.Contains(asked.body, passphrase) {
		t.Error("the page that confirms the sign-in has the passphrase")
	}
	f.clock.Advance(-11 * time.Minute)
	f.backups.err = errors.New("the disk is full")
	b.send(at, "passphrase", passphrase, "repeated", passphrase).want(http.StatusInternalServerError)
	if n := f.backups.folders(t); n != 0 {
		t.Errorf("%d folders were not removed", n)
	}
}

// A backup contains every shop, so that an owner of one shop cannot make it.
func TestBackup_needs_an_owner_of_every_shop(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	f.backups.shops = append(f.backups.shops, "other")
	if forms := b.get("/desk/shop/backup").want(http.StatusOK, "Only an account that owns all of them").find("main form").Length(); forms != 0 {
		t.Errorf("the page has %d forms", forms)
	}
	b.send("/desk/shop/backup", "passphrase", "correct horse battery", "repeated", "correct horse battery").want(http.StatusForbidden, "Backups are made by")
}

// brokenConnection is a response whose connection breaks at the first write of the body.
type brokenConnection struct{ *httptest.ResponseRecorder }

func (brokenConnection) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// A backup that was not sent as a whole is not the last backup.
func TestBackup_aborted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	form := values("passphrase", "correct horse battery", "repeated", "correct horse battery", "form", b.formToken())
	defer func() {
		if got, _ := recover().(error); !errors.Is(got, http.ErrAbortHandler) {
			t.Errorf("the handler ended with %v, want %v", got, http.ErrAbortHandler)
		}
		if n := f.backups.folders(t); f.backups.sent != 0 || n != 0 {
			t.Errorf("%d backups are recorded as sent, and %d folders were not removed", f.backups.sent, n)
		}
	}()
	r := b.request(http.MethodPost, "/desk/shop/backup", form)
	f.desk.ServeHTTP(brokenConnection{httptest.NewRecorder()}, r)
}
