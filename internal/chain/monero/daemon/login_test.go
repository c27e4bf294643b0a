package daemon_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"chequer/internal/chain/monero/daemon"
)

const password = "secret:pass@word"

// login is the login of the fake in an address.
const login = "shop:secret%3Apass%40word"

func (f *fake) requireLogin() {
	f.set(func() { f.user, f.pass = "shop", password })
}

func TestLogin(t *testing.T) {
	t.Parallel()
	for _, algorithms := range [][]string{{"MD5", "MD5-sess"}, {"SHA-256", "SHA-256-sess", "MD5", "MD5-sess"}, {"MD5-sess", "SHA-256"}} {
		t.Run(algorithms[0], func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.requireLogin()
			f.algorithms = algorithms
			c := f.client(func(c *daemon.Config) { c.Address = f.address(login) })
			for range 3 {
				if _, err := c.Info(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if f.challenges != 1 || f.connections != 1 {
				t.Errorf("%d challenges on %d connections, want one on one", f.challenges, f.connections)
			}
		})
	}
}

func TestLogin_is_not_sent_to_a_daemon_that_does_not_ask(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.handler = func(w http.ResponseWriter, r *http.Request) {
		if text := r.Header.Get("Authorization"); text != "" {
			t.Errorf("Authorization: %s", text)
		}
		w.WriteHeader(http.StatusTeapot)
	}
	if _, err := f.client(func(c *daemon.Config) { c.Address = f.address(login) }).Info(t.Context()); err == nil || !strings.HasSuffix(err.Error(), "HTTP status 418") {
		t.Errorf("Info() = %v, want HTTP status 418", err)
	}
}

func TestLogin_is_refused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		login      string
		algorithms []string
		want       string
	}{
		"a wrong password":      {"shop:wrong", []string{"MD5"}, "wrong user or password in CHEQUER_MONERO_NODE"},
		"a wrong user":          {"other:secret%3Apass%40word", []string{"MD5"}, "wrong user or password"},
		"no login":              {"", []string{"MD5"}, "asks for a user and a password, and CHEQUER_MONERO_NODE has none"},
		"an unknown algorithm":  {login, []string{"SHA-512-256", "MD5-sess"}, "a kind of login that this program does not support"},
		"no challenge":          {login, nil, "a kind of login that this program does not support"},
		"a challenge in a list": {login, []string{"MD4, Digest algorithm=MD5"}, "a kind of login that this program does not support"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.requireLogin()
			f.algorithms = test.algorithms
			c := f.client(func(c *daemon.Config) { c.Address = f.address(test.login) })
			for range 2 {
				_, err := c.Info(t.Context())
				if !errors.Is(err, daemon.ErrLogin) || !strings.Contains(err.Error(), test.want) {
					t.Errorf("Info() = %v, want ErrLogin and %q", err, test.want)
				}
				for _, secret := range []string{"secret", "wrong@", ":wrong"} {
					if strings.Contains(err.Error(), secret) {
						t.Errorf("the error contains the password: %v", err)
					}
				}
			}
			f.set(func() { f.algorithms = []string{"MD5"} })
			if _, err := c.Info(t.Context()); test.login == login && err != nil {
				t.Errorf("Info() after the daemon supports the login = %v", err)
			}
		})
	}
}

func TestLogin_answers_stale_challenges(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.requireLogin()
	c := f.client(func(c *daemon.Config) { c.Address = f.address(login) })
	for range 3 {
		if _, err := c.Info(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.server.CloseClientConnections() // a new connection has another nonce
	}
	if f.connections < 3 {
		t.Errorf("%d connections, want 3", f.connections)
	}
}

func TestLogin_gives_up_on_a_daemon_whose_challenges_are_always_stale(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	calls := 0
	f.handler = func(w http.ResponseWriter, _ *http.Request) {
		calls++
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Digest qop="auth", realm="monero-rpc", nonce="%d", stale=true`, calls))
		w.WriteHeader(http.StatusUnauthorized)
	}
	_, err := f.client(func(c *daemon.Config) { c.Address = f.address(login) }).Info(t.Context())
	if !errors.Is(err, daemon.ErrLogin) || !strings.Contains(err.Error(), "another login at each request") || calls != 4 {
		t.Errorf("Info() = %v after %d calls, want ErrLogin after 4", err, calls)
	}
}

func TestLogin_of_concurrent_calls(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.requireLogin()
	c := f.client(func(c *daemon.Config) { c.Address = f.address(login) })
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if _, err := c.Block(t.Context(), 5); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if f.challenges != 1 {
		t.Errorf("%d challenges, want 1", f.challenges)
	}
}

func TestCertificate(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	server := f.start(func(s *httptest.Server) { s.StartTLS() })
	sum := sha256.Sum256(server.Certificate().Raw)
	pin := hex.EncodeToString(sum[:])
	for name, test := range map[string]struct{ fragment, want string }{
		"the pinned one":  {"#sha256=" + pin, ""},
		"with colons":     {"#SHA256=" + strings.ToUpper(pin[:2]+":"+pin[2:]), ""},
		"another one":     {"#sha256=" + hashOf("certificate", 1), "its SHA-256 is " + pin + ", not the pinned one"},
		"not trusted":     {"", "add #sha256=" + pin + " to CHEQUER_MONERO_NODE"},
		"pin and a login": {"#sha256=" + pin, ""},
	} {
		address := server.URL + test.fragment
		if strings.Contains(name, "login") {
			address = strings.Replace(address, "://", "://"+login+"@", 1)
		}
		_, err := f.client(func(c *daemon.Config) { c.Address = parse(t, address) }).Info(t.Context())
		if test.want == "" && err != nil || test.want != "" && (!errors.Is(err, daemon.ErrCertificate) || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: Info() = %v, want %q", name, err, test.want)
		}
	}
}

func TestConnection_errors(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	l.Close()
	c := f.client(func(c *daemon.Config) { c.Address = parse(t, "http://shop:secret@"+closed) })
	if _, err := c.Info(t.Context()); err == nil || !strings.Contains(err.Error(), "daemon at "+closed+": get_info: connection failed: dial tcp") || strings.Contains(err.Error(), "secret") {
		t.Errorf("refused connection: Info() = %v", err)
	}

	calls := 0
	f.handler = func(w http.ResponseWriter, _ *http.Request) {
		calls++
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("{"))
	}
	if _, err := f.client().Info(t.Context()); err == nil || !strings.Contains(err.Error(), "connection failed: incomplete answer: unexpected EOF") || calls != 2 {
		t.Errorf("half an answer: Info() = %v after %d calls, want 2", err, calls)
	}

	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	f.set(func() {
		f.handler = func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}
	})
	if _, err := f.client(func(c *daemon.Config) { c.Timeout = 50 * time.Millisecond }).Info(t.Context()); err == nil || !strings.Contains(err.Error(), "no complete answer within 50ms") {
		t.Errorf("no answer: Info() = %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	c = f.client()
	var group sync.WaitGroup
	for range 2 { // one of them waits for the other
		group.Go(func() {
			if _, err := c.Info(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("ended context: Info() = %v", err)
			}
		})
	}
	group.Wait()
}

func TestConnection_that_breaks_within_an_answer_is_tried_again(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.requireLogin()
	c := f.client(func(c *daemon.Config) { c.Address = f.address(login) })
	if _, err := c.Info(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.set(func() {
		f.handler = func(w http.ResponseWriter, _ *http.Request) {
			f.set(func() { f.handler = nil })
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("{"))
		}
	})
	if _, err := c.Info(t.Context()); err != nil {
		t.Errorf("Info() = %v", err)
	}
}

func TestParseAddress(t *testing.T) {
	t.Parallel()
	pin := hashOf("certificate", 1)
	for text, want := range map[string]string{
		"http://127.0.0.1:18081":                            "http://127.0.0.1:18081",
		" http://shop:secret@127.0.0.1:18081/ ":             "http://127.0.0.1:18081",
		"http://[::1]:18081":                                "http://[::1]:18081",
		"https://node.example.org":                          "https://node.example.org",
		"https://node.example.org:18089#sha256=" + pin:      "https://node.example.org:18089",
		"127.0.0.1:18081":                                   "",
		"ftp://127.0.0.1:18081":                             "",
		"http://:18081":                                     "",
		"http://127.0.0.1:secret":                           "",
		"http://127.0.0.1:0":                                "",
		"http://127.0.0.1:18081/json_rpc":                   "",
		"http://127.0.0.1:18081?secret":                     "",
		"http://shop@127.0.0.1:18081":                       "",
		"http://:secret@127.0.0.1:18081":                    "",
		"http://shop:@127.0.0.1:18081":                      "",
		"http://sh%22op:secret@127.0.0.1:18081":             "",
		"http://sh%C3%B6p:secret@127.0.0.1:18081":           "",
		"http://127.0.0.1:18081#sha256=" + pin:              "",
		"https://127.0.0.1:18081#" + pin:                    "",
		"https://127.0.0.1:18081#sha256=" + pin[2:]:         "",
		"https://shop:secret@127.0.0.1:18081#sha256=secret": "",
		"http://shop:secret@abcdefghijklmnop.onion.:18081":  "",
		"http://shop:secret%zz@127.0.0.1:18081":             "",
		"http://shop:secret@127.0.0.1:18081\x00":            "",
	} {
		a, err := daemon.ParseAddress(text)
		if a.String() != want || (err == nil) != (want != "") {
			t.Errorf("ParseAddress(%q) = %v, %v, want %q", text, a, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error contains the password: %v", err)
		}
	}
}

func TestAddress_prints_no_password(t *testing.T) {
	t.Parallel()
	a := parse(t, "http://shop:secret@127.0.0.1:18081")
	for _, text := range []string{fmt.Sprintf("%v %+v %#v %s %q %x", a, a, a, a, a, a), slog.AnyValue(a).Resolve().String(), fmt.Sprintf("%+v", struct{ A daemon.Address }{a})} {
		if strings.Contains(text, "secret") || !strings.Contains(text, "http://127.0.0.1:18081") {
			t.Errorf("printed as %q", text)
		}
	}
}

func TestNew_refuses_daemons_of_others(t *testing.T) {
	t.Parallel()
	for address, test := range map[string]struct {
		trusted bool
		want    string
	}{
		"http://127.0.0.1:18081":          {},
		"http://localhost:18081":          {},
		"http://192.168.1.7:18081":        {},
		"http://monerod:18081":            {},
		"https://node.example.org:18089":  {false, "write trusted: before its address"},
		"http://8.8.8.8:18089":            {false, "write trusted: before its address"},
		"http://node.example.org:18089":   {true, "use https"},
		"https://node2.example.org:18089": {trusted: true},
	} {
		_, err := daemon.New(daemon.Config{Address: parse(t, address), Trusted: test.trusted, Setting: "CHEQUER_MONERO_NODE", Network: daemon.Mainnet, Now: time.Now})
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("New(%s) = %v, want %q", address, err, test.want)
		}
	}
}
