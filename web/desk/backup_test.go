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
	"sync"
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
	path    string
	backups *stubBackups
}

func (b stubBackup) Path() string { return b.path }
func (b stubBackup) Sent() error  { b.backups.sent++; return nil }
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

func TestBackup_is_sealed_with_the_entered_passphrase(t *testing.T) {
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
func TestBackup_that_was_aborted_is_not_the_last(t *testing.T) {
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

// closedBeforeFlush is a response whose caller goes away when everything was written and nothing was sent yet.
type closedBeforeFlush struct {
	*httptest.ResponseRecorder
	leave context.CancelFunc
	fault error
}

func (c closedBeforeFlush) FlushError() error {
	c.leave()
	return c.fault
}

// A small backup, which fits a buffer, is not the last backup if the caller left before it was sent.
func TestBackup_aborted_while_it_is_in_a_buffer(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]error{"the write fails": io.ErrClosedPipe, "the request ends": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			b := f.owner()
			form := values("passphrase", "correct horse battery", "repeated", "correct horse battery", "form", b.formToken())
			ctx, leave := context.WithCancel(t.Context())
			defer func() {
				if got, _ := recover().(error); !errors.Is(got, http.ErrAbortHandler) {
					t.Errorf("the handler ended with %v, want %v", got, http.ErrAbortHandler)
				}
				if n := f.backups.folders(t); f.backups.sent != 0 || n != 0 {
					t.Errorf("%d backups are recorded as sent, and %d folders were not removed", f.backups.sent, n)
				}
			}()
			r := b.request(http.MethodPost, "/desk/shop/backup", form).WithContext(ctx)
			f.desk.ServeHTTP(closedBeforeFlush{httptest.NewRecorder(), leave, fault}, r)
		})
	}
}

// stalledConnection is a response whose caller takes nothing until it is released.
type stalledConnection struct {
	*httptest.ResponseRecorder
	writes   chan struct{} // receives an element at the first write
	released chan struct{}
}

func (s stalledConnection) Write(b []byte) (int, error) {
	select {
	case s.writes <- struct{}{}:
	default:
	}
	<-s.released
	return s.ResponseRecorder.Write(b)
}

// A download that stalls does not hold back the next backup.
func TestBackup_while_another_download_stalls(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	request := func() *http.Request {
		return b.request(http.MethodPost, "/desk/shop/backup", values("passphrase", "correct horse battery", "repeated", "correct horse battery", "form", b.formToken()))
	}
	stalled := stalledConnection{httptest.NewRecorder(), make(chan struct{}, 1), make(chan struct{})}
	first, second := request(), request()
	var download sync.WaitGroup
	download.Go(func() { f.desk.ServeHTTP(stalled, first) })
	<-stalled.writes
	answer := httptest.NewRecorder()
	f.desk.ServeHTTP(answer, second)
	if answer.Code != http.StatusOK || answer.Body.String() != "sealed with correct horse battery" || answer.Header().Get("Content-Length") != "33" {
		t.Errorf("answer %d %q, length %s", answer.Code, answer.Body, answer.Header().Get("Content-Length"))
	}
	close(stalled.released)
	download.Wait()
}
