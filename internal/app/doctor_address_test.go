package app_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"chequer/internal/app"
)

func TestExamineAddress(t *testing.T) {
	t.Parallel()
	p, other := demo(t), demo(t)
	core, err := app.OpenCore(t.Context(), p.config, app.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer core.Close()
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
		"this server":          {handler: proxy(p.url, ""), want: "ok address: URL leads to this server"},
		"another installation": {handler: proxy(other.url, ""), want: "fail address: URL leads to another installation"},
		"another program":      {handler: http.NotFoundHandler(), want: "fail address: URL does not lead to this server: /readyz answers 404"},
		"base path not passed": {handler: proxy(p.url, "/elsewhere"), path: "/pay", want: "fail address: URL does not lead to this server: /readyz answers 404"},
		"a redirect":           {handler: http.RedirectHandler("https://shop.example/", http.StatusFound), want: "fail address: URL redirects elsewhere"},
		"a JSON answer of another program": {
			handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"ready":true}`)) }),
			want:    "fail address: URL does not lead to this server: /readyz answers 200",
		},
		"a self-signed certificate": {handler: proxy(p.url, ""), tls: true, want: "fail address: URL has a certificate that browsers refuse"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := httptest.NewServer
			if test.tls {
				start = httptest.NewTLSServer
			}
			public := start(test.handler)
			defer public.Close()
			c := p.config
			c.BaseURL = public.URL + test.path
			got := app.ExamineAddress(t.Context(), core, c)
			if want := strings.Replace(test.want, "URL", c.BaseURL, 1); len(got) == 0 || !strings.HasPrefix(got[len(got)-1], want) {
				t.Errorf("got findings %q, want %q", got, want)
			}
		})
	}
}
