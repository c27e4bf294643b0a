package lightning_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"chequer/internal/chain/lightning"
	"chequer/internal/chain/lightning/lightningtest"
	"chequer/internal/guard"
)

// get calls a URL.
func get(t *testing.T, c lightning.Caller, address string) (int, string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	status, body, err := c.Do(t.Context(), r)
	return status, string(body), err
}

func TestCaller_calls_public_addresses_only(t *testing.T) {
	t.Parallel()
	errReached := errors.New("reached")
	dialer := &guard.Dialer{Resolver: net.DefaultResolver, Connect: func(context.Context, string, string) (net.Conn, error) { return nil, errReached }}
	for name, test := range map[string]struct {
		dialer  guard.Connector
		address string
		reached bool
	}{
		"this machine":         {dialer, "https://127.0.0.1/", false},
		"a private network":    {dialer, "https://10.0.0.1/", false},
		"a public address":     {dialer, "https://8.8.8.8/", true},
		"http":                 {dialer, "http://8.8.8.8/", false},
		"another port":         {dialer, "https://8.8.8.8:8080/", false},
		"any port":             {lightning.AnyPort(dialer), "https://8.8.8.8:8080/", true},
		"any port, http":       {lightning.AnyPort(dialer), "http://8.8.8.8:8080/", false},
		"any port, in private": {lightning.AnyPort(dialer), "https://192.168.1.2:8080/", false},
	} {
		c := lightning.Caller{Dialer: test.dialer}
		_, _, callErr := get(t, c, test.address)
		_, _, upgradeErr := websocket.Dial(t.Context(), test.address, &websocket.DialOptions{HTTPClient: c.Upgrader(strings.HasPrefix(test.address, "http:"))})
		for call, err := range map[string]error{"call": callErr, "upgrade": upgradeErr} {
			_, refused := errors.AsType[*guard.RefusedError](err)
			if errors.Is(err, errReached) != test.reached || refused == test.reached {
				t.Errorf("%s, %s: error %v, want reached %t", name, call, err, test.reached)
			}
		}
	}
}

func TestCaller_follows_no_redirect_and_bounds_answers(t *testing.T) {
	t.Parallel()
	elsewhere := 0
	server := lightningtest.NewServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, "https://example.com/elsewhere", http.StatusTemporaryRedirect)
		case "/elsewhere":
			elsewhere++
		case "/large":
			_, _ = w.Write(make([]byte, 64<<10+1))
		case "/largest":
			_, _ = w.Write(make([]byte, 64<<10))
		case "/never":
			<-r.Context().Done()
		case "/busy":
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}))
	c := lightning.Caller{Dialer: server, TLS: server.TLS()}
	for path, want := range map[string]string{"/redirect": "redirect, which is not followed", "/large": "larger than 64 KiB", "/busy": lightning.ErrRateLimited.Error()} {
		if _, _, err := get(t, c, "https://example.com"+path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", path, err, want)
		}
	}
	brief, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	r, err := http.NewRequestWithContext(brief, http.MethodGet, "https://example.com/never", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Do(brief, r); !errors.Is(err, context.DeadlineExceeded) || err.Error() != "the server does not answer in time" {
		t.Errorf("no answer: error %v", err)
	}
	if status, body, err := get(t, c, "https://example.com/largest"); err != nil || status != http.StatusOK || len(body) != 64<<10 {
		t.Errorf("the largest answer: status %d, %d bytes, %v", status, len(body), err)
	}
	if _, _, err := websocket.Dial(t.Context(), "wss://example.com/redirect", &websocket.DialOptions{HTTPClient: c.Upgrader(false)}); err == nil {
		t.Error("a redirect of a WebSocket is followed")
	}
	if elsewhere > 0 {
		t.Error("a redirect was followed")
	}
	if _, _, err := get(t, lightning.Caller{Dialer: server}, "https://example.com/"); err == nil || !strings.Contains(err.Error(), "the certificate of the server is not trusted") {
		t.Errorf("an unknown certificate: %v", err)
	}
}
