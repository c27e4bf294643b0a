package e2e_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/app"
	"chequer/internal/merchant"
	"chequer/internal/programtest"
	"chequer/internal/signature"
)

// refusal is an error response to a request for an invoice.
type refusal struct {
	status      int
	code, retry string
	body        api.Error
}

// creators are clients that create invoices without pause, and the responses that they received.
type creators struct {
	t   *testing.T
	url string
	key merchant.Key

	mu       sync.Mutex
	created  []api.Invoice
	refusals []refusal
}

// createInvoices starts the given number of clients, which create invoices until stop is called.
func (c *creators) createInvoices(clients int) (stop func()) {
	ctx, cancel := context.WithCancel(c.t.Context())
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			for ctx.Err() == nil {
				c.createInvoice()
			}
		})
	}
	stop = sync.OnceFunc(func() { cancel(); group.Wait() })
	c.t.Cleanup(stop)
	return stop
}

// createInvoice creates one invoice and records the response.
func (c *creators) createInvoice() {
	body := []byte(`{"amount":12.50,"fiat_currency":"EUR"}`)
	r, err := http.NewRequest(http.MethodPost, c.url+api.PathInvoiceNew, bytes.NewReader(body))
	if err != nil {
		c.t.Error(err)
		return
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(api.HeaderKey, c.key.Key)
	r.Header.Set(api.HeaderSignature, signature.Sign(c.key.Secret, body))
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Errorf("a request for an invoice has no response: %v", err)
		return
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Errorf("the response to a request for an invoice is incomplete: %v", err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if resp.StatusCode != http.StatusOK {
		r := refusal{status: resp.StatusCode, code: resp.Header.Get(api.HeaderErrorCode), retry: resp.Header.Get("Retry-After")}
		if err := json.Unmarshal(text, &r.body); err != nil {
			c.t.Errorf("%s with the body %q", resp.Status, text)
		}
		c.refusals = append(c.refusals, r)
		return
	}
	var inv api.Invoice
	if err := json.Unmarshal(text, &inv); err != nil || inv.ForeignID == "" {
		c.t.Errorf("a request for an invoice returns %q", text)
		return
	}
	c.created = append(c.created, inv)
}

// count returns the numbers of created invoices and of refused requests.
func (c *creators) count() (created, refusals int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.created), len(c.refusals)
}

// checkInvoices fails if a created invoice is missing or shares an address with another.
func (c *creators) checkInvoices() {
	c.t.Helper()
	(&process{t: c.t, url: c.url}).checkAnswered(c.created)
	owner := map[string]string{}
	for _, inv := range c.created {
		for _, a := range inv.Addresses {
			if other, isRepeated := owner[a.Address]; isRepeated && other != inv.ForeignID {
				c.t.Errorf("invoices %s and %s share %s", other, inv.ForeignID, a.Address)
			}
			owner[a.Address] = inv.ForeignID
		}
	}
}

// openDatabase opens the database of a program.
func openDatabase(t *testing.T, folder string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(folder, "chequer.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	return db
}

// execute executes statements on a database.
func execute(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// checkDatabase fails if a database is damaged, or has fewer invoices than minInvoices.
func checkDatabase(t *testing.T, db *sql.DB, minInvoices int) {
	t.Helper()
	var integrity string
	var invoices int
	err := errors.Join(db.QueryRow("PRAGMA integrity_check").Scan(&integrity), db.QueryRow("SELECT COUNT(*) FROM invoices").Scan(&invoices))
	if err != nil || integrity != "ok" || invoices < minInvoices {
		t.Errorf("integrity_check is %q, with %d invoices, want at least %d: %v", integrity, invoices, minInvoices, err)
	}
}

// TestDatabase_locked_by_another_process locks the database of a running program for eight seconds from this
// process. The program must serve pages meanwhile; requests for invoices wait.
func TestDatabase_locked_by_another_process(t *testing.T) {
	t.Parallel()
	folder, listen := t.TempDir(), freeAddress(t)
	p := &process{t: t, url: "http://" + listen, environ: append(os.Environ(),
		"CHEQUER_LISTEN="+listen, "CHEQUER_DATA_DIR="+folder, "CHEQUER_RATE_LIMIT=off")}
	p.demo()
	creators := &creators{t: t, url: p.url, key: p.key}
	shop := newShop(t, p.url, p.key)
	id := shop.createInvoice()
	stop := creators.createInvoices(8)
	until(t, waitTimeout, "creations are answered", func() bool { n, _ := creators.count(); return n >= 20 })

	db := openDatabase(t, folder)
	execute(t, db, "PRAGMA busy_timeout = 10000", "BEGIN IMMEDIATE")
	locked := time.Now()
	var slowest time.Duration
	pages := 0
	until(t, 10*time.Second, "eight seconds have passed", func() bool {
		requestedAt := time.Now()
		readPage(t, p.url+"/invoice/"+id, http.StatusOK)
		if got := shop.invoice(id).Status; got != api.StatusCreated {
			t.Errorf("the invoice is %s, want %s", got, api.StatusCreated)
		}
		slowest = max(slowest, time.Since(requestedAt))
		pages++
		return time.Since(locked) > 8*time.Second
	})
	during, _ := creators.count()
	execute(t, db, "ROLLBACK")
	until(t, 5*time.Second, "creations are answered again", func() bool { n, _ := creators.count(); return n > during+20 })
	stop()

	if slowest > 2*time.Second {
		t.Errorf("a page took %s while the database was locked", slowest)
	}
	for _, r := range creators.refusals {
		if r.status != http.StatusServiceUnavailable || r.retry == "" {
			t.Errorf("a request for an invoice is refused with %+v, want 503 and Retry-After", r)
		}
	}
	creators.checkInvoices()
	shop.simulate(id, api.SimulateExact, api.SimulateConfirm)
	shop.waitStatus(id, api.StatusPaid, waitTimeout)
	checkDatabase(t, db, len(creators.created))
	t.Logf("%d pages, the slowest in %s; %d invoices created, %d refused", pages, slowest, len(creators.created), len(creators.refusals))
}

// smallDisk returns a folder on a small file system of its own. If it cannot be mounted the test is
// skipped, but fails in CI if the tests run as root.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	folder := t.TempDir()
	output, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "tmpfs", folder).CombinedOutput()
	switch {
	case err == nil:
	case os.Getuid() == 0:
		programtest.SkipUnlessCI(t, "mount: %v: %s", err, output)
	default:
		t.Skip("a small file system cannot be mounted here")
	}
	t.Cleanup(func() {
		if output, err := exec.Command("umount", folder).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, output)
		}
	})
	return folder
}

// fillDisk appends to a file until its file system is full.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		if errors.Is(err, syscall.ENOSPC) {
			return
		}
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4<<10))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}

// requestStatus requests an address, and returns the status of the response.
func requestStatus(t *testing.T, url string) int {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode
}

// TestFull_disk_loses_no_invoice fills the disk of a running program while it creates invoices, and
// frees the space again.
func TestFull_disk_loses_no_invoice(t *testing.T) {
	t.Parallel()
	folder := smallDisk(t, "24m")
	settings := settings(t, "CHEQUER_RATE_LIMIT=off", "CHEQUER_DATABASE_URL=sqlite:"+filepath.Join(folder, "chequer.db"))
	settings.DataDir = folder
	program := start(t, settings, app.Options{Demo: true})
	creators := &creators{t: t, url: program.url, key: program.key}
	shop := newShop(t, program.url, program.key)
	id := shop.createInvoice()
	stop := creators.createInvoices(4)
	until(t, waitTimeout, "creations are answered", func() bool { n, _ := creators.count(); return n >= 20 })

	ballast := filepath.Join(folder, "ballast")
	until(t, waitTimeout, "creations are refused", func() bool {
		fillDisk(t, ballast)
		_, refusals := creators.count()
		return refusals >= 20
	})
	readPage(t, program.url+"/invoice/"+id, http.StatusOK)
	if got := shop.invoice(id).Status; got != api.StatusCreated {
		t.Errorf("the invoice is %s, want %s", got, api.StatusCreated)
	}
	until(t, waitTimeout, "the program is not ready", func() bool {
		fillDisk(t, ballast)
		return requestStatus(t, program.url+"/readyz") == http.StatusServiceUnavailable
	})
	stop()
	creators.checkInvoices()
	full, refusals := creators.count()
	for _, r := range creators.refusals {
		want := refusal{status: r.status, code: r.code, retry: r.retry, body: api.Error{
			StatusCode: r.status, Error: http.StatusText(r.status), Message: r.body.Message,
		}}
		if r.status < 500 || r.code == "" || r != want || r.body.Message == "" || strings.Contains(r.body.Message, "disk") {
			t.Fatalf("a request for an invoice is refused with %+v, want a code and a message that does not name the disk", r)
		}
	}

	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	stop = creators.createInvoices(4)
	until(t, 10*time.Second, "creations are answered again", func() bool { n, _ := creators.count(); return n >= full+20 })
	stop()
	until(t, waitTimeout, "the program is ready", func() bool { return requestStatus(t, program.url+"/readyz") == http.StatusOK })
	creators.checkInvoices()
	shop.simulate(id, api.SimulateExact, api.SimulateConfirm)
	shop.waitStatus(id, api.StatusPaid, waitTimeout)
	checkDatabase(t, openDatabase(t, folder), len(creators.created))
	t.Logf("%d invoices created while the disk filled, %d refused, the first with %+v", full, refusals, creators.refusals[0])
}
