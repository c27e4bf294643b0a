package e2e_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/programtest"
	"chequer/internal/signature"
)

// startDemoProcess starts a demo in a process of its own, whose descriptors can be counted.
func startDemoProcess(t *testing.T) (p *process, folder string) {
	t.Helper()
	folder, listen := t.TempDir(), freeAddress(t)
	p = &process{t: t, url: "http://" + listen, environ: append(os.Environ(),
		"CHEQUER_LISTEN="+listen, "CHEQUER_DATA_DIR="+folder, "CHEQUER_RATE_LIMIT=off", "CHEQUER_TRUST_PROXY=127.0.0.1")}
	p.demo()
	return p, folder
}

// descriptors returns the number of files and connections that the program has open.
func (p *process) descriptors() int {
	p.t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.command.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	return len(files) // empty on a system without /proc
}

// checkDescriptors fails if the program keeps more descriptors open than it had before.
func (p *process) checkDescriptors(before int) {
	p.t.Helper()
	const slack = 8 // idle connections of the test's clients
	until(p.t, 5*time.Second, fmt.Sprintf("descriptors are back at about %d", before), func() bool {
		http.DefaultClient.CloseIdleConnections()
		return p.descriptors() <= before+slack
	})
}

// dial opens a connection to the program. The test's cleanup closes it.
func (p *process) dial() net.Conn {
	p.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(waitTimeout)); err != nil {
		p.t.Fatal(err)
	}
	return c
}

// needFiles skips the test if the process may not open that many files; in CI the test fails instead.
func needFiles(t *testing.T, want uint64) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if limit.Cur < want {
		programtest.SkipUnlessCI(t, "only %d files may be open here, want %d", limit.Cur, want)
	}
}

// TestSlow_clients_are_disconnected lets a thousand clients send one byte of a request and wait. The program must serve
// other clients meanwhile, and disconnect the slow clients.
func TestSlow_clients_are_disconnected(t *testing.T) {
	t.Parallel()
	const clients = 1000
	needFiles(t, clients+500)
	process, _ := startDemoProcess(t)
	shop := newShop(t, process.url, process.key)
	id := shop.createInvoice()
	before := process.descriptors()
	start := time.Now()
	conns := make([]net.Conn, clients)
	for i := range conns {
		conns[i] = process.dial()
		if _, err := conns[i].Write([]byte("G")); err != nil {
			t.Fatal(err)
		}
	}
	var slowest time.Duration
	for range 20 {
		requestedAt := time.Now()
		readPage(t, process.url+"/invoice/"+id, http.StatusOK)
		shop.createInvoice()
		slowest = max(slowest, time.Since(requestedAt))
	}
	if slowest > 3*time.Second {
		t.Errorf("a page and a creation took %s beside slow clients", slowest)
	}
	for i, c := range conns {
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("slow client %d is still connected after %s", i, time.Since(start))
		}
	}
	if elapsed := time.Since(start); elapsed > 15*time.Second {
		t.Errorf("slow clients were disconnected after %s, want at most 15 s", elapsed)
	}
	process.checkDescriptors(before)
	t.Logf("a page and a creation took %s at most; slow clients ended after %s", slowest, time.Since(start))
}

// TestHeaders_above_the_limit_are_refused sends headers below and above the limit, on a connection that has served another
// request.
func TestHeaders_above_the_limit_are_refused(t *testing.T) {
	t.Parallel()
	process, _ := startDemoProcess(t)
	before := process.descriptors()
	for _, row := range []struct {
		size, status int
	}{
		{60 << 10, http.StatusOK},
		{80 << 10, http.StatusRequestHeaderFieldsTooLarge},
		{128 << 10, http.StatusRequestHeaderFieldsTooLarge},
		{1 << 20, http.StatusRequestHeaderFieldsTooLarge},
	} {
		t.Run(fmt.Sprintf("%d KiB return status %d", row.size>>10, row.status), func(t *testing.T) {
			conn := process.dial()
			responses := bufio.NewReader(conn)
			status := func(header string) int {
				t.Helper()
				go fmt.Fprintf(conn, "GET /robots.txt HTTP/1.1\r\nHost: x\r\n%s\r\n", header)
				resp, err := http.ReadResponse(responses, nil)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil {
					t.Fatal(err)
				}
				return resp.StatusCode
			}
			if got := status(""); got != http.StatusOK {
				t.Errorf("the request before has status %d, want 200", got)
			}
			if got := status("X-Large: " + strings.Repeat("a", row.size) + "\r\n"); got != row.status {
				t.Errorf("got %d, want %d", got, row.status)
			}
			if row.status != http.StatusOK {
				if _, err := responses.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("the connection stays open: %v", err)
				}
			}
			conn.Close()
		})
	}
	process.checkDescriptors(before)
}

// TestIncomplete_bodies_are_refused sends requests whose body ends too early.
func TestIncomplete_bodies_are_refused(t *testing.T) {
	t.Parallel()
	process, folder := startDemoProcess(t)
	db := openDatabase(t, folder)
	invoices := func() (n int) {
		if err := db.QueryRow("SELECT COUNT(*) FROM invoices").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := process.descriptors()
	body := `{"amount":12.50,"fiat_currency":"EUR"}`
	order := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n%s: %s\r\n%s: %s\r\n",
		api.PathInvoiceNew, api.HeaderKey, process.key.Key, api.HeaderSignature, signature.Sign(process.key.Secret, []byte(body)))
	form := "POST /order HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n"
	for range 100 {
		for request, part := range map[string]string{
			order + "Content-Length: 1000\r\n\r\n":             body, // the signed body with a wrong length
			order + "Content-Length: 39\r\n\r\n":               body[:20],
			order + "Transfer-Encoding: chunked\r\n\r\n26\r\n": body, // without the last chunk
			form + "Content-Length: 1000\r\n\r\n":              "amount=12.50",
		} {
			c := process.dial()
			if _, err := io.WriteString(c, request+part); err != nil {
				t.Fatal(err)
			}
			c.Close()
		}
	}
	t.Run("a_client_that_still_reads_gets_an_error", func(t *testing.T) {
		c := process.dial()
		if _, err := io.WriteString(c, order+"Content-Length: 1000\r\n\r\n"+body); err != nil {
			t.Fatal(err)
		}
		if err := c.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != http.StatusBadRequest || !bytes.Contains(text, []byte(`"statusCode":400`)) {
			t.Errorf("got %s: %s", resp.Status, text)
		}
		c.Close()
	})
	process.checkDescriptors(before)
	if n := invoices(); n != 0 {
		t.Errorf("half-sent requests created %d invoices, want none", n)
	}
	newShop(t, process.url, process.key).createInvoice()
	if n := invoices(); n != 1 {
		t.Errorf("after a complete request there are %d invoices, want 1", n)
	}
}

// maxStreams is the default limit of web.Config.
const maxStreams = 12_000

// Streams that TestManyStreams requests, and the number of them for each invoice.
const (
	requestedStreams  = maxStreams + 3000
	viewersPerInvoice = 20
)

// streamNetworks counts the networks that streams were requested from.
var streamNetworks atomic.Uint32

// stream requests the event stream of an invoice as its page does, through a proxy and from a
// network of its own. It returns nil if the limit of streams is reached.
func (p *process) stream(id string) (net.Conn, error) {
	n := streamNetworks.Add(1)
	c, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		return nil, err
	}
	if err := c.SetDeadline(time.Now().Add(waitTimeout)); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if _, err := fmt.Fprintf(c, "GET /invoice/%s/live?v=1 HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 100.%d.%d.1\r\n\r\n", id, n>>8&255, n&255); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	resp, err := http.ReadResponse(bufio.NewReaderSize(c, 1<<10), nil)
	switch {
	case err != nil:
		return nil, errors.Join(err, c.Close())
	case resp.StatusCode == http.StatusOK:
		return c, nil
	case resp.StatusCode == http.StatusNoContent:
		return nil, c.Close()
	}
	return nil, errors.Join(fmt.Errorf("a stream has status %s", resp.Status), c.Close())
}

// descriptorSlack allows for the program's own connections, and for connections that are being closed.
const descriptorSlack = 100

// TestStreams_are_limited requests more streams at once than the limit. Those above it get status 204,
// and their pages poll.
func TestStreams_are_limited(t *testing.T) {
	t.Parallel()
	needFiles(t, maxStreams+2000)
	process, _ := startDemoProcess(t)
	shop := newShop(t, process.url, process.key)
	ids := make([]string, maxStreams/viewersPerInvoice+1)
	for i := range ids {
		ids[i] = shop.createInvoice()
	}
	before := process.descriptors()
	start := time.Now()

	var mu sync.Mutex
	streams := map[string][]net.Conn{}
	closeAll := func() {
		for _, list := range streams {
			for _, c := range list {
				c.Close()
			}
		}
		clear(streams)
	}
	t.Cleanup(closeAll)
	var refused, next atomic.Int64
	var group sync.WaitGroup
	for range 32 {
		group.Go(func() {
			for {
				n := next.Add(1) - 1
				if n >= requestedStreams {
					return
				}
				id := ids[n/viewersPerInvoice%int64(len(ids)-1)]
				c, err := process.stream(id)
				switch {
				case err != nil:
					t.Error(err)
					return
				case c == nil:
					refused.Add(1)
				default:
					mu.Lock()
					streams[id] = append(streams[id], c)
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	opened := time.Since(start)
	total := 0
	for _, list := range streams {
		total += len(list)
	}
	// On a slow machine a stream may end early, and the program then accepts another. The total may
	// therefore exceed the limit; the number of open connections may not.
	kept := process.descriptors() - before
	if total < maxStreams || total+int(refused.Load()) != requestedStreams || kept > maxStreams+descriptorSlack {
		t.Fatalf("%d streams were served, %d refused, and %d are open, want %d", total, refused.Load(), kept, maxStreams)
	}

	last := ids[len(ids)-1]
	if total == maxStreams {
		if c, err := process.stream(last); c != nil || err != nil {
			t.Errorf("a stream above the limit is served: %v", err)
		}
	}
	requestedAt := time.Now()
	readPage(t, process.url+"/invoice/"+last, http.StatusOK)
	shop.simulate(last, api.SimulateExact)
	shop.waitStatus(last, api.StatusPending, waitTimeout)
	shop.simulate(last, api.SimulateConfirm)
	shop.waitStatus(last, api.StatusPaid, waitTimeout)
	if got := readPage(t, process.url+"/invoice/"+last, http.StatusOK).Find("#st").Text(); got != "Paid. Thank you." {
		t.Errorf("the page without a stream shows %q", got)
	}
	elapsed := time.Since(requestedAt)
	if elapsed > 10*time.Second {
		t.Errorf("a page without a stream showed the payment after %s, want at most 10 s", elapsed)
	}

	for _, c := range streams[ids[0]] {
		c.Close()
	}
	delete(streams, ids[0])
	until(t, 10*time.Second, "a stream is served again", func() bool {
		c, err := process.stream(ids[0])
		if err != nil {
			t.Fatal(err)
		}
		if c == nil {
			return false
		}
		c.Close()
		return true
	})
	closeAll()
	process.checkDescriptors(before)
	t.Logf("%d streams open and %d refused after %s; a page without a stream was paid in %s", total, refused.Load(), opened, elapsed)
}
