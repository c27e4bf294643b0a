package doctor

import (
	"bytes"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"chequer/internal/config"
	"chequer/internal/readiness"
	"chequer/internal/seal"
	"chequer/internal/storage/storagetest"
)

func TestExamineAddress_accepts_only_an_address_of_this_server(t *testing.T) {
	t.Parallel()
	identity := func(b byte) readiness.Identity {
		box, err := seal.New(bytes.Repeat([]byte{b}, seal.KeySize))
		if err != nil {
			t.Fatal(err)
		}
		return readiness.NewIdentity(box)
	}
	serve := func(i readiness.Identity) string {
		mux := http.NewServeMux()
		mux.Handle("/readyz", readiness.Handler(readiness.Config{Storage: storagetest.SQLite(t), Identity: i, Now: time.Now}))
		s := httptest.NewServer(mux)
		t.Cleanup(s.Close)
		return s.URL
	}
	own := identity(1)
	ownURL, other := serve(own), serve(identity(2))
	proxy := func(to, strip string) http.Handler {
		target, err := url.Parse(to)
		if err != nil {
			t.Fatal(err)
		}
		return http.StripPrefix(strip, httputil.NewSingleHostReverseProxy(target))
	}
	for name, test := range map[string]struct {
		handler http.Handler
		path    string
		tls     bool
		want    string
	}{
		"this server":          {handler: proxy(ownURL, ""), want: "ok address: URL leads to this server"},
		"another installation": {handler: proxy(other, ""), want: "fail address: URL leads to another installation"},
		"another program":      {handler: http.NotFoundHandler(), want: "fail address: URL does not lead to this server: /readyz answers 404"},
		"base path not passed": {handler: proxy(ownURL, "/elsewhere"), path: "/pay", want: "fail address: URL does not lead to this server: /readyz answers 404"},
		"a redirect":           {handler: http.RedirectHandler("https://shop.example/", http.StatusFound), want: "fail address: URL redirects elsewhere"},
		"a JSON answer of another program": {
			handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"ready":true}`)) }),
			want:    "fail address: URL does not lead to this server: /readyz answers 200",
		},
		"a self-signed certificate": {handler: proxy(ownURL, ""), tls: true, want: "fail address: URL has a certificate that browsers refuse"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := httptest.NewServer
			if test.tls {
				start = httptest.NewTLSServer
			}
			public := start(test.handler)
			defer public.Close()
			e := &examination{Config: Config{Settings: config.Config{BaseURL: public.URL + test.path}, Identity: own}}
			e.examineAddress(t.Context(), true)
			got := e.lines()
			if want := strings.Replace(test.want, "URL", e.Settings.BaseURL, 1); len(got) == 0 || !strings.HasPrefix(got[len(got)-1], want) {
				t.Errorf("got findings %q, want %q", got, want)
			}
		})
	}
}

func TestUnreachedLevel_fails_only_for_a_missing_DNS_record(t *testing.T) {
	t.Parallel()
	missing := &url.Error{Op: "Get", URL: "https://pay.example/readyz?challenge=abc", Err: &net.DNSError{Err: "no such host", Name: "pay.example", IsNotFound: true}}
	if level, message := unreachedLevel(missing); level != LevelFail || !strings.Contains(message, "DNS record for pay.example") {
		t.Errorf("missing name: got %s %s", level, message)
	}
	connRefused := &url.Error{Op: "Get", URL: "https://pay.example/readyz?challenge=abc", Err: &net.OpError{Op: "dial", Err: net.ErrClosed}}
	if level, message := unreachedLevel(connRefused); level != LevelWarn || strings.Contains(message, "abc") {
		t.Errorf("refused: %s %s", level, message)
	}
}
