package e2e_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"chequer/internal/programtest"
)

// slowPages are the page states that TestPage_arrives_in_pieces loads.
var slowPages = []string{
	"storefront", "link", "link_open", "products", "product", "terminal", "embed_built", "manual", "not_found",
	"waiting_one_method", "paid", "overpaid", "expired",
	"desk_signin", "desk_accounts", "desk_overview", "desk_reports", "desk_payments", "desk_payment_late", "desk_attention",
}

// TestPage_arrives_in_pieces loads pages over a connection that delivers one tag or text at a time, so that the
// browser paints incomplete documents. No painted element may move.
func TestPage_arrives_in_pieces(t *testing.T) {
	programtest.RequireProgram(t, "chromium")
	site := newDemoSite(t)
	t.Run("pages", func(t *testing.T) { // returns after all parallel subtests
		for _, name := range slowPages {
			i := slices.IndexFunc(pageStates, func(s pageState) bool { return s.name == name })
			if i < 0 {
				t.Fatalf("there is no page state %s", name)
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				tab := openAlone(t, frames[1])
				tab.observe()
				pageStates[i].reach(tab, site.in(t))
				tab.visit(serveInPieces(t, get(tab, chromedp.Evaluate[string](`location.href`))))
				tab.waitLoaded()
				tab.checkLayoutShift()
			})
		}
	})
}

// frameTime is longer than the browser takes from one picture to the next.
const frameTime = 17 * time.Millisecond

// copyFlushed sends the header and everything that is read at once. The first text of an event stream may be
// shorter than the buffer of the server.
func copyFlushed(w http.ResponseWriter, body io.Reader) {
	flusher := w.(http.Flusher)
	flusher.Flush()
	buf := make([]byte, 32<<10)
	for {
		n, err := body.Read(buf)
		if _, writeErr := w.Write(buf[:n]); writeErr != nil || err != nil {
			return
		}
		flusher.Flush()
	}
}

// serveInPieces returns an address at which a page is delivered one tag or text at a time.
func serveInPieces(t *testing.T, address string) string {
	t.Helper()
	origin, path := address, ""
	if i := strings.Index(address[len("https://"):], "/"); i >= 0 {
		i += len("https://")
		origin, path = address[:i], address[i:]
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(t.Context(), cancel)() // an event stream ends with the test
		out, err := http.NewRequestWithContext(ctx, r.Method, origin+r.URL.RequestURI(), r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		out.Header = r.Header.Clone()
		out.Header.Del("Accept-Encoding")
		resp, err := http.DefaultTransport.RoundTrip(out)
		if err != nil {
			return
		}
		defer resp.Body.Close()
		for name, values := range resp.Header {
			if name != "Content-Length" {
				w.Header()[name] = values
			}
		}
		w.WriteHeader(resp.StatusCode)
		if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
			copyFlushed(w, resp.Body)
			return
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Error(err)
			return
		}
		for len(body) > 0 {
			n := 1 + bytes.IndexByte(body[1:], '<')
			if n == 0 {
				n = len(body)
			}
			if tag := 1 + bytes.IndexByte(body[:n], '>'); tag > 0 && tag < n {
				n = tag
			}
			if _, err := w.Write(body[:n]); err != nil {
				return
			}
			body = body[n:]
			w.(http.Flusher).Flush()
			time.Sleep(frameTime)
		}
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL + path
}
