package notify_test

import (
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/notify"
	"chequer/internal/storage/storagetest"
)

// count returns the number of texts that a text contains.
func count(text string, parts ...string) (n int) {
	for _, part := range parts {
		if strings.Contains(text, part) {
			n++
		}
	}
	return n
}

// pushServer is a server of push messages.
type pushServer struct {
	*httptest.Server
	mu     sync.Mutex
	status int
	got    []string // title, body, priority, page and authorization of each message
}

func newPushServer(t *testing.T) *pushServer {
	p := &pushServer{status: http.StatusOK}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		title, _ := new(mime.WordDecoder).DecodeHeader(r.Header.Get("Title"))
		p.mu.Lock()
		defer p.mu.Unlock()
		p.got = append(p.got, strings.Join([]string{r.URL.Path, title, string(body), r.Header.Get("Priority"), r.Header.Get("Click"), r.Header.Get("Authorization")}, "|"))
		if p.status == http.StatusFound {
			w.Header().Set("Location", p.URL+"/elsewhere")
		}
		w.WriteHeader(p.status)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *pushServer) answer(status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = status
}

func (p *pushServer) messages() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.got...)
}

func TestPush_retries_only_temporary_failures(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		storagetest.Exec(t, f.url, "UPDATE merchants SET name = $1 WHERE id = 'shop'", "Ateljé\r\nX-Priority: 5")
		p := newPushServer(t)
		f.must(f.service.SetDestinations(t.Context(), f.owner, notify.Destinations{PushURL: p.URL + "/topic", PushToken: "tk_1"}))
		f.must(f.service.Choose(t.Context(), f.owner, "shop", []notify.Choice{{Kind: notify.Sold, Channel: notify.Push}, {Kind: notify.Sold, Channel: notify.Mail}}))
		f.pay("inv1", "shop", "1047")
		f.run()
		f.minute()
		want := []string{"/topic|Ateljé X-Priority: 5: You sold something|Order 1047: €56.50, BTC||https://shop.example/desk/shop/payments/inv1|Bearer tk_1"}
		if diff := cmp.Diff(want, p.messages()); diff != "" {
			t.Error(diff)
		}
		f.wantStates("push sold sent") // by e-mail it has no destination
		for i, test := range []struct {
			status int
			state  string
		}{
			{http.StatusForbidden, "failed the push server answered 403"}, {http.StatusFound, "failed the push server answered 302"},
			{http.StatusTooManyRequests, "pending the push server answered 429"}, {http.StatusBadGateway, "pending the push server answered 502"},
		} {
			storagetest.Exec(t, f.url, "DELETE FROM messages")
			p.answer(test.status)
			f.pay("more"+string(rune('a'+i)), "shop", "1047")
			f.run()
			f.minute()
			f.wantStates("push sold " + test.state)
		}
		if n := count(strings.Join(p.messages(), "\n"), "/elsewhere"); n != 0 {
			t.Error("a redirect was followed")
		}
	})
}

// A push address may lead only to where webhooks may lead.
func TestPush_is_guarded(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		for _, url := range []string{"http://10.0.0.1/topic", "https://169.254.169.254/", "file:///etc/passwd", "https://user:pw@ntfy.example/x", "nonsense"} {
			if err := f.service.SetDestinations(t.Context(), f.owner, notify.Destinations{PushURL: url}); err == nil {
				t.Errorf("%s was accepted", url)
			}
		}
		// An address that was allowed once is checked again when it is called.
		set := notify.NewService(notify.ServiceConfig{Storage: f.storage, CheckURL: func(string) error { return nil }, Now: f.clock.Now})
		f.must(set.SetDestinations(t.Context(), f.owner, notify.Destinations{PushURL: "http://10.0.0.1/secret-topic"}))
		f.must(f.service.Choose(t.Context(), f.owner, "shop", []notify.Choice{{Kind: notify.Sold, Channel: notify.Push}}))
		f.pay("inv1", "shop", "1047")
		f.run()
		f.minute()
		f.wantStates("push sold pending the address leads into the network of this server")
		if strings.Contains(f.states()[0]+f.log.String(), "secret-topic") {
			t.Errorf("the fault or the log shows the topic: %q", f.log.String())
		}
	})
}
