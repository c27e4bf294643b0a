package web_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/PuerkitoBio/goquery"

	"chequer/internal/api"
	"chequer/internal/client"
	"chequer/web"
	"chequer/web/present/presenttest"
)

// listener is a browser that reads an invoice's stream within a synctest bubble.
type listener struct {
	leave context.CancelFunc

	mu      sync.Mutex
	header  http.Header
	code    int
	text    string
	isEnded bool
}

func listen(t *testing.T, h http.Handler, target string) *listener {
	t.Helper()
	return listenFrom(t, h, target, "192.0.2.1")
}

// listenFrom reads a stream from a client address.
func listenFrom(t *testing.T, h http.Handler, target, address string) *listener {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &listener{leave: cancel, header: http.Header{}}
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	r.RemoteAddr = net.JoinHostPort(address, "1234")
	go func() {
		h.ServeHTTP(l, r)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.isEnded = true
	}()
	synctest.Wait()
	return l
}

func (l *listener) Header() http.Header { return l.header }

func (l *listener) WriteHeader(code int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.code = code
}

func (l *listener) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text += string(b)
	return len(b), nil
}

func (l *listener) Flush() {}

// got returns the response so far.
func (l *listener) got() (code int, text string, isEnded bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.code, l.text, l.isEnded
}

// wantPages compares the number of pages that the browser has received, the heading of the last page, and whether the
// stream has ended.
func (l *listener) wantPages(t *testing.T, count int, heading string, wantEnd bool) {
	t.Helper()
	synctest.Wait()
	_, text, isEnded := l.got()
	events := strings.Split(text, "event: page\n")[1:]
	last := ""
	if len(events) > 0 {
		last = headingOf(t, events[len(events)-1])
	}
	if len(events) != count || last != heading || isEnded != wantEnd {
		t.Errorf("%d pages, last %q, ended %t; want %d, %q, %t", len(events), last, isEnded, count, heading, wantEnd)
	}
}

// headingOf returns the heading of the page in an event.
func headingOf(t *testing.T, event string) string {
	t.Helper()
	event, _, _ = strings.Cut(event, "\n\n")
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(strings.ReplaceAll(event, "data: ", "")))
	if err != nil {
		t.Fatal(err)
	}
	return doc.Find("#live h2#st").Text()
}

func TestStream_sends_every_change(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := presenttest.Invoice("abc")
		s := newService(r)
		l := listen(t, pages(t, s, nil), "/invoice/abc/live?v=created1")
		if got := l.header.Get("Content-Type"); got != "text/event-stream" {
			t.Errorf("Content-Type = %q", got)
		}
		if _, got, _ := l.got(); !strings.HasPrefix(got, "retry: 3000\n\n") {
			t.Errorf("stream begins with %q, want the time of a retry", got)
		}
		l.wantPages(t, 0, "", false) // the browser shows this version already

		r.Version, r.Status, r.DueAmount, r.Payments = 2, api.StatusPending, "0", []api.Payment{presenttest.Payment("seen")}
		s.set(r)
		l.wantPages(t, 1, "Payment seen", false)
		if _, got, _ := l.got(); !strings.Contains(got, "id: pending2\n") {
			t.Error("the version is not the event's id")
		}

		r.Version, r.Status, r.Payments = 3, api.StatusPaid, []api.Payment{presenttest.Payment("confirmed")}
		s.set(r)
		l.wantPages(t, 2, "Paid. Thank you.", true)
	})
}

// The service in the same process reports changes. The pages read an invoice once for each change, however
// many browsers show it.
func TestStream_reads_a_change_once_for_all_browsers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := presenttest.Invoice("abc")
		s := newService(r)
		var changed func(int64)
		watches := 0
		h := pages(t, s, func(c *web.Config) {
			c.Watch = func(_ string, call func(int64)) func() {
				changed = call
				watches++
				return func() { watches-- }
			}
		})
		var listeners []*listener
		for i := range 50 {
			listeners = append(listeners, listenFrom(t, h, "/invoice/abc/live?v=created1", fmt.Sprintf("2001:db8:%x::1", i)))
		}
		time.Sleep(61 * time.Second) // three heartbeats
		synctest.Wait()
		if s.reads != 1 || watches != 1 {
			t.Errorf("%d reads and %d watches, want one of each", s.reads, watches)
		}
		r.Version, r.Status, r.DueAmount, r.Payments = 2, api.StatusPending, "0", []api.Payment{presenttest.Payment("seen")}
		s.set(r)
		changed(2)
		for _, l := range listeners {
			l.wantPages(t, 1, "Payment seen", false)
		}
		if s.reads != 2 {
			t.Errorf("%d reads after a change, want 2", s.reads)
		}
		for _, l := range listeners {
			l.leave()
		}
		synctest.Wait()
		if watches != 0 {
			t.Errorf("%d watches without browsers", watches)
		}
	})
}

func TestStream_sends_versions_that_the_browser_missed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, v, lastID string
		want            int
	}{
		{"a new browser", "", "", 1},
		{"an outdated page", "created0", "", 1},
		{"a current page", "created1", "", 0},
		{"after an interruption the last event's id counts", "created0", "created1", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := pages(t, newService(presenttest.Invoice("abc")), nil)
				handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					r.Header.Set("Last-Event-ID", tt.lastID)
					h.ServeHTTP(w, r)
				})
				l := listen(t, handler, "/invoice/abc/live?v="+tt.v)
				_, text, _ := l.got()
				if got := strings.Count(text, "event: page"); got != tt.want {
					t.Errorf("%d pages, want %d", got, tt.want)
				}
				l.leave()
				synctest.Wait()
			})
		})
	}
}

func TestStream_sends_the_expiry_of_the_quote(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := presenttest.Invoice("abc")
		r.SecondsLeft = 12
		s := &countdownService{newService(r), time.Now().Add(12 * time.Second)}
		l := listen(t, pages(t, s.service, func(c *web.Config) { c.Client = s }), "/invoice/abc/live?v=created1")
		time.Sleep(11 * time.Second)
		l.wantPages(t, 0, "", false)
		time.Sleep(2 * time.Second)
		l.wantPages(t, 1, "The held price has run out", false)
		l.leave()
		synctest.Wait()
	})
}

func TestStream_sends_heartbeats_and_ends_after_ten_minutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := listen(t, pages(t, newService(presenttest.Invoice("abc")), nil), "/invoice/abc/live")
		time.Sleep(61 * time.Second)
		synctest.Wait()
		_, text, _ := l.got()
		if got := strings.Count(text, "event: beat\ndata\n\n"); got != 3 {
			t.Errorf("%d heartbeats in a minute, want 3", got)
		}
		time.Sleep(9 * time.Minute)
		l.wantPages(t, 1, "Waiting for your payment", true)
	})
}

func TestStream_ends_when_the_browser_leaves_or_the_handler_closes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newService(presenttest.Invoice("abc"))
		h := pages(t, s, nil)
		first, second := listen(t, h, "/invoice/abc/live"), listen(t, h, "/invoice/abc/live")
		first.leave()
		synctest.Wait()
		first.wantPages(t, 1, "Waiting for your payment", true)
		second.wantPages(t, 1, "Waiting for your payment", false)
		h.Close()
		second.wantPages(t, 1, "Waiting for your payment", true)
	})
}

func TestStream_limits_all_streams_together(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newService(presenttest.Invoice("abc"), presenttest.Invoice("def"), presenttest.Invoice("ghi"))
		h := pages(t, s, func(c *web.Config) { c.MaxStreams = 3 })
		var open []*listener
		for i, tt := range []struct {
			id     string
			status int
		}{{"abc", 200}, {"abc", 200}, {"def", 200}, {"ghi", 204}, {"nosuch", 204}} { // the limit is checked before the invoice is read
			l := listenFrom(t, h, "/invoice/"+tt.id+"/live", fmt.Sprintf("2001:db8:%x::1", i))
			if code, _, _ := l.got(); code != tt.status {
				t.Errorf("%s: status %d, want %d", tt.id, code, tt.status)
			}
			open = append(open, l)
		}
		open[0].leave()
		synctest.Wait()
		if code, _, _ := listen(t, h, "/invoice/ghi/live").got(); code != 200 {
			t.Errorf("status %d after another stream ended, want 200", code)
		}
		h.Close()
		synctest.Wait()
	})
}

func TestStream_limits_the_streams_of_one_network(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		address func(n int) string
		limit   int // the network's own limit, or a share of the limit of all streams, see caller.Blocks
	}{
		"one_ipv4_address": {func(int) string { return "192.0.2.7" }, 2},
		"an_ipv6_64":       {func(n int) string { return fmt.Sprintf("2001:db8:1:1::%x", n) }, 2},
		"an_ipv6_56":       {func(n int) string { return fmt.Sprintf("2001:db8:1:%x::1", n) }, 4},
		"an_ipv6_48":       {func(n int) string { return fmt.Sprintf("2001:db8:1:%x::1", n<<8) }, 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := pages(t, newService(presenttest.Invoice("abc")), func(c *web.Config) {
					c.MaxStreams, c.MaxStreamsPerNetwork = 80, 2
				})
				var first *listener
				for n := range tt.limit {
					l := listenFrom(t, h, "/invoice/abc/live", tt.address(n))
					if code, _, _ := l.got(); code != 200 {
						t.Errorf("stream %d: status %d, want 200", n, code)
					}
					if first == nil {
						first = l
					}
				}
				for address, want := range map[string]int{tt.address(tt.limit): 204, "198.51.100.1": 200} {
					if code, _, _ := listenFrom(t, h, "/invoice/abc/live", address).got(); code != want {
						t.Errorf("stream from %s: status %d, want %d", address, code, want)
					}
				}
				first.leave()
				synctest.Wait()
				if code, _, _ := listenFrom(t, h, "/invoice/abc/live", tt.address(tt.limit)).got(); code != 200 {
					t.Errorf("status %d after a stream ended, want 200", code)
				}
				h.Close()
				synctest.Wait()
			})
		})
	}
}

func TestStream_status_is_204_after_the_final_version(t *testing.T) {
	t.Parallel()
	declined := presenttest.Invoice("no")
	declined.Status = api.StatusDeclined
	h := pages(t, newService(declined), nil)
	for target, want := range map[string]int{
		"/invoice/nosuch/live":         404,
		"/invoice/%5Cevil/live":        404,
		"/invoice/no/live":             200, // the browser does not show this version yet; the stream ends after it
		"/invoice/no/live?v=declined1": 204, // the browser shows the final version: it must not connect again
	} {
		if got := get(t, h, target).StatusCode; got != want {
			t.Errorf("%s has status %d, want %d", target, got, want)
		}
	}
}

// The stream of a page in the frame of a shop plug-in keeps the view in the addresses of the page.
func TestStream_keeps_the_view_in_a_frame(t *testing.T) {
	t.Parallel()
	declined := presenttest.Invoice("no")
	declined.Status = api.StatusDeclined
	h := pages(t, newService(declined), nil)
	for target, want := range map[string]bool{"/invoice/no/live": false, "/invoice/no/live?view=modal": true} {
		if got := content(t, get(t, h, target)); !strings.Contains(got, "/invoice/no") || strings.Contains(got, "/invoice/no?view=modal") != want {
			t.Errorf("%s: the page has the view: %t, want %t: %s", target, !want, want, got)
		} else if link := strings.Contains(got, "?view=modal&amp;lang="); link != want {
			t.Errorf("%s: the link to the languages has the view: %t, want %t: %s", target, link, want, got)
		}
	}
}

func TestStream_is_served_below_the_base_path_only(t *testing.T) {
	t.Parallel()
	declined := presenttest.Invoice("no")
	declined.Status = api.StatusDeclined
	h := pages(t, newService(declined), func(c *web.Config) { c.BasePath = "/pay" })
	for target, want := range map[string]int{"/pay/invoice/no/live": 200, "/invoice/no/live": 404, "/payinvoice/no/live": 404} {
		if got := get(t, h, target).StatusCode; got != want {
			t.Errorf("%s has status %d, want %d", target, got, want)
		}
	}
}

// countdownService is a service whose SecondsLeft counts down.
type countdownService struct {
	*service
	deadline time.Time
}

func (c *countdownService) Invoice(ctx context.Context, id string) (snapshot client.Snapshot, err error) {
	snapshot, err = c.service.Invoice(ctx, id)
	snapshot.Resource.SecondsLeft = int64(time.Until(c.deadline) / time.Second)
	return snapshot, err
}
