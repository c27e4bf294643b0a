package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/merchant"
)

const (
	// soakDuration is the time that the load runs; E2E_SOAK overrides it.
	soakDuration = 30 * time.Minute
	// soakSample is the time between two samples.
	soakSample = 5 * time.Second
	// maxWAL bounds the size of SQLite's write-ahead log while reads, exports and backups run.
	maxWAL = 128 << 20
)

// TestSoak_leaves_memory_files_and_goroutines_bounded runs nightly: a mixed load of creations, pages, payments, webhooks
// with failing receivers, exports and backups. Memory and file descriptors must not grow, the write-ahead log must
// stay bounded, and no goroutine may be left when the load ends.
func TestSoak_leaves_memory_files_and_goroutines_bounded(t *testing.T) {
	if os.Getenv("E2E_NIGHTLY") == "" {
		t.Skip("runs nightly")
	}
	duration := soakDuration
	if text := os.Getenv("E2E_SOAK"); text != "" {
		var err error
		if duration, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	soak := newSoak(t)
	before := soak.measureIdle()
	var load sync.WaitGroup
	ctx, stop := context.WithTimeout(t.Context(), duration)
	defer stop()
	for range 4 {
		load.Go(func() { soak.repeat(ctx, 50*time.Millisecond, soak.createInvoice) })
	}
	for range 8 {
		load.Go(func() { soak.repeat(ctx, 100*time.Millisecond, soak.visit) })
	}
	load.Go(func() { soak.repeat(ctx, 20*time.Second, soak.export) })
	load.Go(func() { soak.repeat(ctx, time.Minute, soak.backUp) })
	var samples []soakUsage
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(soakSample):
			samples = append(samples, soak.measure())
		}
	}
	load.Wait()
	t.Logf("%d invoices, %d streams, %d exports, %d backups", soak.ordered.Load(), soak.visited.Load(), soak.exported.Load(), soak.backedUp.Load())
	for name, count := range map[string]*atomic.Int64{"invoices": &soak.ordered, "streams": &soak.visited, "exports": &soak.exported, "backups": &soak.backedUp} {
		if count.Load() == 0 {
			t.Errorf("there were no %s", name)
		}
	}
	checkFlat(t, samples)
	http.DefaultClient.CloseIdleConnections()
	soak.client.CloseIdleConnections()
	until(t, 2*waitTimeout, "the goroutines and file descriptors of the load end", func() bool {
		now := soak.measure()
		return now.goroutines <= before.goroutines+10 && now.files <= before.files+10
	})
}

// checkFlat fails if the last third of the samples needs more than the middle third. The first third is
// ignored, because the program warms up. A third is represented by its smallest value, because peaks depend on when
// garbage is collected.
func checkFlat(t *testing.T, samples []soakUsage) {
	t.Helper()
	third := len(samples) / 3
	if third < 3 {
		t.Fatalf("%d samples are too few", len(samples))
	}
	smallest := func(part []soakUsage, value func(soakUsage) int64) int64 {
		smallest := value(part[0])
		for _, s := range part {
			smallest = min(smallest, value(s))
		}
		return smallest
	}
	for _, c := range []struct {
		name    string
		value   func(soakUsage) int64
		allowed int64 // growth
	}{
		{"bytes of live heap", func(s soakUsage) int64 { return s.heap }, 8 << 20},
		{"bytes of resident memory", func(s soakUsage) int64 { return s.memory }, 24 << 20},
		{"file descriptors", func(s soakUsage) int64 { return s.files }, 20},
		{"goroutines", func(s soakUsage) int64 { return s.goroutines }, 40},
	} {
		middle, last := smallest(samples[third:2*third], c.value), smallest(samples[2*third:], c.value)
		t.Logf("%s: %d, then %d", c.name, middle, last)
		if last > middle+c.allowed {
			t.Errorf("%s grew from %d to %d", c.name, middle, last)
		}
	}
	for _, s := range samples {
		if s.wal > maxWAL {
			t.Errorf("the write-ahead log has %d bytes, want at most %d", s.wal, int64(maxWAL))
		}
	}
}

// soak is a program under load.
type soak struct {
	*process
	t       *testing.T
	shop    shop
	key     merchant.Key
	folder  string
	metrics string
	client  *http.Client

	ordered, visited, exported, backedUp atomic.Int64
	mu                                   sync.Mutex
	pages                                []string // identifiers of recent invoices
}

// soakUsage is a measurement of what the program uses.
type soakUsage struct{ heap, memory, files, goroutines, wal int64 }

// newSoak starts a program with three receivers of webhooks: one works, one fails half of the time, one cuts each
// connection.
func newSoak(t *testing.T) *soak {
	t.Helper()
	folder, metrics := t.TempDir(), freeAddress(t)
	p := newProcess(t, folder, "CHEQUER_METRICS="+metrics, "CHEQUER_UNWATCHED=on", "CHEQUER_BITCOIN_NODE=off", "CHEQUER_ETHEREUM_RPC=off", "CHEQUER_BASE_RPC=off",
		"CHEQUER_RATE_LIMIT=off", "CHEQUER_CALLBACK_ALLOW=127.0.0.0/8", "CHEQUER_PASSPHRASE=correct horse battery staple")
	s := &soak{process: p, t: t, folder: folder, metrics: metrics, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	p.run("init")
	for _, handler := range []http.HandlerFunc{
		func(http.ResponseWriter, *http.Request) {}, // answers 200
		func(w http.ResponseWriter, _ *http.Request) { // fails half of the time
			if rand.IntN(2) == 0 {
				w.WriteHeader(http.StatusInternalServerError)
			}
		},
		func(http.ResponseWriter, *http.Request) { // cuts the connection
			panic(http.ErrAbortHandler)
		},
	} {
		receiver := httptest.NewServer(handler)
		t.Cleanup(receiver.Close)
		p.run("endpoint", "add", receiver.URL+"/hook", "--test")
	}
	if err := json.Unmarshal(p.run("key", "add", "--test", "--json"), &s.key); err != nil {
		t.Fatal(err)
	}
	p.serve()
	s.shop = newShop(t, p.url, s.key)
	return s
}

// measureIdle returns what the program uses after one operation of each kind and a pause.
func (s *soak) measureIdle() soakUsage {
	s.createInvoice()
	s.visit()
	s.client.CloseIdleConnections()
	http.DefaultClient.CloseIdleConnections()
	last := s.measure()
	until(s.t, waitTimeout, "the program is idle", func() bool {
		now := s.measure()
		steady := now.goroutines == last.goroutines && now.files == last.files
		last = now
		return steady
	})
	return last
}

// repeat repeats an operation with pauses until the context ends.
func (s *soak) repeat(ctx context.Context, pause time.Duration, operation func()) {
	for ctx.Err() == nil {
		operation()
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(rand.Int64N(2 * int64(pause)))):
		}
	}
}

// createInvoice creates an invoice, and pays two of three.
func (s *soak) createInvoice() {
	id := s.shop.createInvoice()
	s.mu.Lock()
	if s.pages = append(s.pages, id); len(s.pages) > 50 {
		s.pages = s.pages[1:]
	}
	s.mu.Unlock()
	if s.ordered.Add(1)%3 > 0 {
		s.shop.simulate(id, api.SimulateExact)
		// On a loaded machine the watcher may observe the payment after the request has ended.
		until(s.t, waitTimeout, "the payment is observed", func() bool { return len(s.shop.invoice(id).Payments) > 0 })
		s.shop.simulate(id, api.SimulateConfirm)
	}
}

// visit opens the page of a recent invoice and its event stream for a while.
func (s *soak) visit() {
	s.mu.Lock()
	if len(s.pages) == 0 {
		s.mu.Unlock()
		return
	}
	id := s.pages[rand.IntN(len(s.pages))]
	s.mu.Unlock()
	s.read("/invoice/"+id, 0)
	s.read("/invoice/"+id+"/live", time.Duration(rand.IntN(3000))*time.Millisecond)
	s.visited.Add(1)
}

// read reads an address of the pages: whole, or for a time if it does not end.
func (s *soak) read(path string, span time.Duration) {
	ctx, cancel := context.WithTimeout(s.t.Context(), waitTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
	if err != nil {
		s.t.Error(err)
		return
	}
	response, err := s.client.Do(r)
	if err != nil {
		s.t.Errorf("GET %s: %v", path, err)
		return
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusNoContent && response.StatusCode != http.StatusTooManyRequests {
		s.t.Errorf("GET %s: %s", path, response.Status)
	}
	if span > 0 {
		time.AfterFunc(span, cancel)
	}
	_, err = io.Copy(io.Discard, response.Body)
	if err != nil && span == 0 {
		s.t.Errorf("GET %s: %v", path, err)
	}
}

// export exports the invoices of the last minute.
func (s *soak) export() {
	s.shop.call(s.url, s.key, http.MethodGet, api.PathInvoices+"/export?format=csv&from="+time.Now().Add(-time.Minute).UTC().Format("2006-01-02T15:04:05Z"), "", nil)
	s.exported.Add(1)
}

// backUp makes a backup, and removes it.
func (s *soak) backUp() {
	path := filepath.Join(s.t.TempDir(), fmt.Sprintf("backup-%d", s.backedUp.Load()))
	s.run("backup", path)
	if err := os.Remove(path); err != nil {
		s.t.Error(err)
	}
	s.backedUp.Add(1)
}

// measure reads what the program uses.
func (s *soak) measure() (now soakUsage) {
	response, err := s.client.Get("http://" + s.metrics + "/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			continue
		}
		switch name {
		case "go_memstats_heap_alloc_bytes":
			now.heap = int64(number)
		case "process_resident_memory_bytes":
			now.memory = int64(number)
		case "process_open_fds":
			now.files = int64(number)
		case "go_goroutines":
			now.goroutines = int64(number)
		}
	}
	if info, err := os.Stat(filepath.Join(s.folder, "chequer.db-wal")); err == nil {
		now.wal = info.Size()
	}
	return now
}
