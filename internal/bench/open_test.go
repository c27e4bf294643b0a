package bench_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"chequer/internal/api"
)

// pageCount returns the number of pages that are held open.
func pageCount(b *testing.B) int {
	b.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv("BENCH_PAGES"), "2000"))
	if err != nil || n < 1 {
		b.Fatal("BENCH_PAGES: want a number from 1")
	}
	return n
}

// BenchmarkOpenPages measures the memory and the idle processor time of open pages, first with one invoice per page, then
// with one invoice for all pages. For the latter it also measures the time until a change has reached all pages.
func BenchmarkOpenPages(b *testing.B) {
	onEngines(b, func(b *testing.B, e engine) {
		count := pageCount(b)
		p := serve(b, e, "CHEQUER_TRUST_PROXY=127.0.0.1")
		p.useKey(b, "--test")
		for _, invoices := range []int{count, 1} {
			measure(b, fmt.Sprintf("%d pages of %d invoices", count, invoices), func(b *testing.B) {
				p.process.Kill()
				p.start(b)
				ids := p.createMany(b, invoices)
				before := p.memory()
				pages := p.openStreams(b, ids, count)
				defer pages.close()
				b.ReportMetric(float64(p.memory()-before)/float64(count)/1024, "KiB/page")
				spent, start := p.cpuTime(b), time.Now()
				time.Sleep(4 * settings.span)
				b.ReportMetric(100*(p.cpuTime(b)-spent).Seconds()/time.Since(start).Seconds(), "idle-cpu-%")
				if invoices == 1 {
					pages.change(b, func() error { return p.simulate(b.Context(), ids[0], api.SimulateExact) })
				}
			})
		}
	})
}

// createMany creates invoices, by several callers.
func (p *program) createMany(b *testing.B, count int) []string {
	b.Helper()
	ids := make([]string, count)
	forEach(b, count, func(ctx context.Context, i int) error {
		inv, err := p.createWith(ctx, body)
		ids[i] = inv.ForeignID
		return err
	})
	return ids
}

// openCallers is the number of concurrent callers that create invoices and open pages.
const openCallers = 16

// forEach calls do with every number below count, by several callers.
func forEach(b *testing.B, count int, do func(ctx context.Context, i int) error) {
	b.Helper()
	var next atomic.Int64
	var mu sync.Mutex
	var firstErr error
	var group sync.WaitGroup
	for range openCallers {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(count); i = next.Add(1) - 1 {
				if err := do(b.Context(), int(i)); err != nil {
					mu.Lock()
					firstErr = err
					mu.Unlock()
					return
				}
			}
		})
	}
	group.Wait()
	if firstErr != nil {
		b.Fatal(firstErr)
	}
}

// clockTicks is the unit of times in /proc, in ticks per second: USER_HZ of Linux.
const clockTicks = 100

// cpuTime returns the processor time that the server has used.
func (p *program) cpuTime(b *testing.B) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.command.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	user, _ := strconv.Atoi(fields[11])   // utime, field 14 of proc(5)
	system, _ := strconv.Atoi(fields[12]) // stime
	return time.Duration(user+system) * time.Second / clockTicks
}

// openedPages are connections with streams, whose bytes are only counted.
type openedPages struct {
	conns   []net.Conn
	updated atomic.Int64
	target  chan struct{} // receives a value when all pages are updated
}

// pageBytes is less than any page, and more than a heartbeat.
const pageBytes = 500

// openStreams opens the streams of pages that show the present version.
func (p *program) openStreams(b *testing.B, ids []string, count int) *openedPages {
	b.Helper()
	pages := &openedPages{conns: make([]net.Conn, count), target: make(chan struct{}, 1)}
	forEach(b, count, func(_ context.Context, i int) error {
		conn, err := openStream(strings.TrimPrefix(p.url, "http://"), ids[i%len(ids)], i)
		if err != nil {
			return err
		}
		pages.conns[i] = conn
		go pages.count(conn)
		return nil
	})
	return pages
}

// openStream opens a stream as Chromium does, from a network of its own, behind a proxy.
func openStream(address, id string, number int) (net.Conn, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(conn, "GET /invoice/%s/live?v=1 HTTP/1.1\r\nHost: %s\r\nX-Forwarded-For: 100.%d.%d.1\r\n"+
		"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36\r\n"+
		"Accept: text/event-stream\r\nCache-Control: no-cache\r\nSec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: cors\r\nSec-Fetch-Dest: empty\r\n"+
		"Accept-Encoding: gzip, deflate, br, zstd\r\nAccept-Language: en-GB,en;q=0.9\r\n\r\n", id, address, number>>8&255, number&255)
	response, err := http.ReadResponse(bufio.NewReaderSize(conn, 512), nil)
	if err != nil || response.StatusCode != http.StatusOK {
		return nil, errors.Join(err, conn.Close(), fmt.Errorf("stream %d is refused", number))
	}
	return conn, nil
}

// count counts a page when a change reaches it.
func (o *openedPages) count(conn net.Conn) {
	text, isUpdated := make([]byte, 4096), false
	for {
		n, err := conn.Read(text)
		if err != nil {
			return
		}
		if n < pageBytes || isUpdated {
			continue
		}
		isUpdated = true
		if o.updated.Add(1) == int64(len(o.conns)) {
			o.target <- struct{}{}
		}
	}
}

// change makes a change and reports the time until it has reached all pages.
func (o *openedPages) change(b *testing.B, do func() error) {
	b.Helper()
	start := time.Now()
	if err := do(); err != nil {
		b.Fatal(err)
	}
	select {
	case <-o.target:
		b.ReportMetric(milliseconds(time.Since(start)), "all-told-ms")
	case <-time.After(time.Minute):
		b.Fatalf("%d of %d pages were updated", o.updated.Load(), len(o.conns))
	}
}

func (o *openedPages) close() {
	for _, conn := range o.conns {
		io.Closer(conn).Close()
	}
}
