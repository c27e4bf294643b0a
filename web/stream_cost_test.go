package web_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"chequer/web"
	"chequer/web/present/presenttest"
)

// browserHeaders are the headers that Chromium sends with the request of a stream.
const browserHeaders = "Host: pay.example\r\nConnection: keep-alive\r\nsec-ch-ua-platform: \"Linux\"\r\n" +
	"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36\r\n" +
	"Accept: text/event-stream\r\nsec-ch-ua: \"Chromium\";v=\"142\", \"Not_A Brand\";v=\"99\"\r\nsec-ch-ua-mobile: ?0\r\n" +
	"Sec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: cors\r\nSec-Fetch-Dest: empty\r\nCache-Control: no-cache\r\n" +
	"Accept-Encoding: gzip, deflate, br, zstd\r\nAccept-Language: en-GB,en;q=0.9\r\n\r\n"

// A stream costs its connection and little more. An open page must be cheap, because a shop has as
// many as shoppers who have not paid yet.
func TestLive_stream_is_cheap(t *testing.T) {
	const count, most = 1000, 40 << 10
	s := newService(presenttest.Invoice("abc"))
	h := pages(t, s, func(c *web.Config) {
		c.Watch, c.MaxStreamsPerNetwork = func(string, func(int64)) func() { return func() {} }, 2*count
		c.MaxStreams = 100 * count
	})
	server := httptest.NewUnstartedServer(h)
	server.Config.WriteTimeout = time.Minute
	server.Start()
	t.Cleanup(server.Close)
	t.Cleanup(h.Close)
	address := server.Listener.Addr().String()
	var first []net.Conn
	for range 10 { // what is made once
		first = append(first, openStream(t, address, "/invoice/abc/live?v=created0"))
	}
	goroutines, before := runtime.NumGoroutine(), memory()
	open := make([]net.Conn, count)
	for i := range open {
		open[i] = openStream(t, address, fmt.Sprintf("/invoice/abc/live?v=created%d", i%2))
	}
	after := memory()
	perStream := int(after-before) / count
	t.Logf("%d bytes for each stream", perStream)
	if perStream > most {
		t.Errorf("a stream takes %d bytes of memory, want at most %d", perStream, most)
	}
	if got := runtime.NumGoroutine() - goroutines; got > 2*count+10 {
		t.Errorf("%d streams have %d goroutines, want the two of each connection", count, got)
	}
	runtime.KeepAlive(first)
}

// memory returns the memory that is in use.
func memory() uint64 {
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
	response, err := http.ReadResponse(bufio.NewReaderSize(c, 1<<10), nil)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		t.Fatal(response.Status)
	}
	return c
}
