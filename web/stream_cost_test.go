package web_test

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/web"
	"chequer/web/present/presenttest"
)

// browserHeaders are the headers that Chromium sends with the request of a stream.
const browserHeaders = "Host: pay.example\r\nConnection: keep-alive\r\nsec-ch-ua-platform: \"Linux\"\r\n" +
	"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36\r\n" +
	"Accept: text/event-stream\r\nsec-ch-ua: \"Chromium\";v=\"142\", \"Not_A Brand\";v=\"99\"\r\nsec-ch-ua-mobile: ?0\r\n" +
	"Sec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: cors\r\nSec-Fetch-Dest: empty\r\nCache-Control: no-cache\r\n" +
	"Accept-Encoding: gzip, deflate, br, zstd\r\nAccept-Language: en-GB,en;q=0.9\r\n\r\n"

// A stream costs its connection and little more: one goroutine, and no buffer of the server. A shop has as
// many open pages as shoppers who have not paid yet.
func TestStream_is_cheap(t *testing.T) {
	const count, maxBytes = 1000, 16 << 10
	server := serveStreams(t, 2*count)
	for range 10 { // creates the objects that all streams share
		server.open(t, "created1")
	}
	goroutines, before := runtime.NumGoroutine(), memoryInUse()
	for range count {
		server.open(t, "created1")
	}
	perStream := int(memoryInUse()-before) / count
	t.Logf("%d bytes for each stream", perStream)
	if perStream > maxBytes {
		t.Errorf("a stream takes %d bytes of memory, want at most %d", perStream, maxBytes)
	}
	if got := runtime.NumGoroutine() - goroutines; got > count+10 {
		t.Errorf("%d streams have %d goroutines, want one for each", count, got)
	}
}

// The address of a request may have 60 kB, which a stream does not keep.
func TestStream_of_a_long_version_is_cheap(t *testing.T) {
	const count, maxBytes = 200, 16 << 10
	server := serveStreams(t, 2*count)
	version := strings.Repeat("x", 60<<10)
	read := func() { server.next(t, server.open(t, version)) } // the page is sent, because the version is too long to be one
	for range 10 {
		read()
	}
	before := memoryInUse()
	for range count {
		server.open(t, version)
	}
	perStream := int(memoryInUse()-before) / count
	t.Logf("%d bytes for each stream", perStream)
	if perStream > maxBytes {
		t.Errorf("a stream takes %d bytes of memory, want at most %d", perStream, maxBytes)
	}
}

func TestStream_sends_every_change_to_all_connections(t *testing.T) {
	server := serveStreams(t, 200)
	goroutines := runtime.NumGoroutine()
	var conns []net.Conn
	for range 200 {
		conns = append(conns, server.open(t, "created1"))
	}
	// A few bytes from a client are ignored, although a browser sends none.
	if _, err := io.WriteString(conns[0], "ignored"); err != nil {
		t.Fatal(err)
	}
	r := presenttest.Invoice("abc")
	for version, status := range []string{api.StatusPending, api.StatusPaid} {
		r.Version, r.Status, r.DueAmount, r.Payments = int64(version+2), status, "0", []api.Payment{presenttest.Payment([]string{"seen", "confirmed"}[version])}
		server.service.set(r)
		server.notify(r.Version)
		for i, c := range conns {
			if i%2 == 1 && version == 1 {
				continue // closed
			}
			if got, want := server.next(t, c), fmt.Sprintf("id: %s%d\n", status, r.Version); !strings.Contains(got, want) {
				t.Fatalf("stream %d: got %q, want %q", i, got, want)
			}
		}
		for i, c := range conns {
			if i%2 == 1 && version == 0 {
				c.Close()
			}
		}
	}
	for i, c := range conns {
		if i%2 == 1 {
			continue
		}
		if unread, err := io.ReadAll(server.decompressed[c]); err != nil || len(unread) > 0 {
			t.Errorf("stream %d ends with %q, %v", i, unread, err)
		}
	}
	for deadline := time.Now().Add(10 * time.Second); server.watches.Load() != 0 || runtime.NumGoroutine() > goroutines+10; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d watches and %d goroutines remain", server.watches.Load(), runtime.NumGoroutine()-goroutines)
		}
	}
}

// A browser sends nothing during a stream. A client that sends without an end would keep the server
// reading.
func TestStream_ends_when_the_client_sends_data(t *testing.T) {
	server := serveStreams(t, 10)
	c := server.open(t, "created1")
	if err := c.SetWriteDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	sent, data := 0, make([]byte, 16<<10)
	for sent < 64<<20 {
		n, err := c.Write(data)
		if sent += n; err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("the server neither reads nor closes the connection")
			}
			return
		}
	}
	t.Errorf("the server read %d bytes", sent)
}

// streamServer serves the pages of one invoice on this machine.
type streamServer struct {
	service      *service
	address      string
	watches      atomic.Int64
	mu           sync.Mutex
	onChange     func(int64)
	decompressed map[net.Conn]io.Reader // the decompressed streams
}

func serveStreams(t *testing.T, limit int) *streamServer {
	t.Helper()
	s := &streamServer{service: newService(presenttest.Invoice("abc")), decompressed: map[net.Conn]io.Reader{}}
	h := pages(t, s.service, func(c *web.Config) {
		c.MaxStreams, c.MaxStreamsPerNetwork = 100*limit, limit
		c.Watch = func(_ string, call func(int64)) func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.onChange = call
			s.watches.Add(1)
			return func() { s.watches.Add(-1) }
		}
	})
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	t.Cleanup(h.Close)
	s.address = server.Listener.Addr().String()
	return s
}

func (s *streamServer) notify(version int64) {
	s.mu.Lock()
	call := s.onChange
	s.mu.Unlock()
	call(version)
}

// open requests a stream and reads the beginning of the response.
func (s *streamServer) open(t *testing.T, version string) net.Conn {
	t.Helper()
	return openStream(t, s.address, "/invoice/abc/live?v="+version)
}

// next returns the next page of a stream.
func (s *streamServer) next(t *testing.T, c net.Conn) string {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if s.decompressed[c] == nil {
		r, err := gzip.NewReader(c)
		if err != nil {
			t.Fatal(err)
		}
		s.decompressed[c] = bufio.NewReader(r)
	}
	var text strings.Builder
	for !strings.Contains(text.String(), "event: page\n") || !strings.HasSuffix(text.String(), "\n\n") {
		line, err := s.decompressed[c].(*bufio.Reader).ReadString('\n')
		if err != nil {
			t.Fatalf("after %q: %v", text.String(), err)
		}
		text.WriteString(line)
	}
	return text.String()
}

// memoryInUse returns the memory that is in use.
func memoryInUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// openStream requests a stream and reads the beginning of the response.
func openStream(t *testing.T, address, target string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, "GET "+target+" HTTP/1.1\r\n"+browserHeaders); err != nil {
		t.Fatal(err)
	}
	// The header is read byte by byte, so that the stream is left for gzip.
	header, buffer := "", make([]byte, 1)
	for !strings.HasSuffix(header, "\r\n\r\n") {
		if _, err := c.Read(buffer); err != nil {
			t.Fatal(err)
		}
		header += string(buffer)
	}
	response, err := http.ReadResponse(bufio.NewReader(strings.NewReader(header)), nil)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		t.Fatal(response.Status)
	}
	return c
}
