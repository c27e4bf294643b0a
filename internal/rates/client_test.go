package rates_test

import (
	"compress/gzip"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"chequer/internal/rates"
)

func TestClient_gives_up_after_ten_seconds(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"silence": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"headers and silence": func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
		"a byte per second": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				io.WriteString(w, " ")
				w.(http.Flusher).Flush()
				time.Sleep(time.Second)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client, base := inMemory(t, handler)
				for _, source := range allSources(client, base) {
					start := time.Now()
					got, err := source.Fetch(t.Context())
					if elapsed := time.Since(start); len(got) > 0 || err == nil || elapsed != 10*time.Second {
						t.Errorf("%s: got %v, %v after %s; want an error after 10s", source.Name(), got, err, elapsed)
					}
				}
			})
		})
	}
}

func TestStep_bounds_all_requests_of_a_source_to_ten_seconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answers := golden(t, read(t, "testdata/coinbase.json"))
		client, base := inMemory(t, func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(3 * time.Second) // each request alone is within the limit
			answers.ServeHTTP(w, r)
		})
		table := rates.NewTable(rates.Config{
			Exchanges: []rates.Source{rates.NewCoinbase(client, base)}, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		})
		start := time.Now()
		err := table.Step(t.Context())
		if elapsed := time.Since(start); err == nil || elapsed != 10*time.Second {
			t.Errorf("error is %v after %s, want an error after 10s", err, elapsed)
		}
		if quotations := table.Report().Sources[0].Quotations; len(quotations) != 3 {
			t.Errorf("tickers that arrived in time are missing: %v", quotations)
		}
	})
}

func TestClient_bounds_the_size_of_an_answer(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"blanks": func(w http.ResponseWriter, _ *http.Request) { flood(w) },
		"compressed": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			flood(gzip.NewWriter(w))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := serve(t, handler)
			for _, source := range allSources(rates.NewClient(), base) {
				got, err := source.Fetch(t.Context())
				if len(got) > 0 || err == nil || !strings.Contains(err.Error(), "larger than 1048576 bytes") {
					t.Errorf("%s: got %v, %v; want an error about the size", source.Name(), got, err)
				}
			}
		})
	}
}

func TestClient_follows_redirects_only_on_the_same_host(t *testing.T) {
	t.Parallel()
	otherHost := serve(t, golden(t, read(t, "testdata/binance.json")))
	for _, tt := range []struct {
		name string
		to   func(r *http.Request) string
		want int // number of tickers
	}{
		{"to another host", func(r *http.Request) string { return otherHost + r.URL.RequestURI() }, 0},
		{"to another scheme", func(r *http.Request) string { return "https://" + r.Host + r.URL.RequestURI() }, 0},
		{"on the same host", func(r *http.Request) string { return r.URL.RequestURI() + "&again" }, 3},
		{"without end", func(r *http.Request) string { return r.URL.RequestURI() }, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			answers := golden(t, read(t, "testdata/binance.json"))
			source := rates.NewBinance(rates.NewClient(), serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if plain, isSecond := strings.CutSuffix(r.URL.RawQuery, "&again"); isSecond {
					r.URL.RawQuery = plain
					answers.ServeHTTP(w, r)
					return
				}
				http.Redirect(w, r, tt.to(r), http.StatusFound)
			})))
			got, err := source.Fetch(t.Context())
			if len(got) != tt.want || (err == nil) != (tt.want > 0) {
				t.Errorf("got %v, %v; want %d tickers", got, err, tt.want)
			}
		})
	}
}

func TestFetch_stops_when_a_source_does_not_answer(t *testing.T) {
	t.Parallel()
	requests := 0
	client := rates.NewClient()
	client.Transport = roundTripperFunc(func(*http.Request) (*http.Response, error) {
		requests++
		return nil, &url.Error{Op: "dial", URL: "x", Err: net.ErrClosed}
	})
	for _, source := range allSources(client, "http://exchange.test") {
		requests = 0
		if _, err := source.Fetch(t.Context()); err == nil || requests != 1 {
			t.Errorf("%s: %d requests, error %v; want one request and an error", source.Name(), requests, err)
		}
	}
}

// flood writes blanks to w until it fails.
func flood(w io.Writer) {
	blanks := []byte(strings.Repeat(" ", 64<<10))
	for {
		if _, err := w.Write(blanks); err != nil {
			return
		}
	}
}

// inMemory serves over pipes, so that it can be used in a synctest bubble.
func inMemory(t *testing.T, handler http.HandlerFunc) (*http.Client, string) {
	t.Helper()
	l := &pipes{waiting: make(chan net.Conn), closed: make(chan struct{})}
	server := httptest.NewUnstartedServer(handler)
	server.Listener.Close()
	server.Listener = l
	server.Start()
	client := rates.NewClient()
	transport := client.Transport.(*http.Transport)
	transport.DialContext = l.dial
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
	})
	return client, server.URL
}

// pipes is a listener without a network.
type pipes struct {
	waiting chan net.Conn
	closed  chan struct{}
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	local, remote := net.Pipe()
	select {
	case p.waiting <- remote:
		return local, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.waiting:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	select {
	case <-p.closed:
	default:
		close(p.closed)
	}
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
