package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/config"
)

func TestNoticeProxy_warns_once(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		trusted []netip.Prefix
		header  string
		want    []string
	}{
		"not_trusted": {nil, "192.0.2.7", []string{"172.17.0.2"}},
		"trusted":     {[]netip.Prefix{netip.MustParsePrefix("172.17.0.0/16")}, "192.0.2.7", nil},
		"no_headers":  {nil, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lines strings.Builder
			var saved []string
			served := 0
			h := noticeProxy(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }), tt.trusted,
				func(_ context.Context, proxy netip.Addr) error {
					saved = append(saved, proxy.String())
					return nil
				}, slog.New(slog.NewTextHandler(&lines, nil)))
			for range 3 {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
				r.RemoteAddr = "172.17.0.2:4000"
				r.Header.Set("X-Forwarded-For", tt.header)
				h.ServeHTTP(httptest.NewRecorder(), r)
			}
			if diff := cmp.Diff(saved, tt.want); diff != "" {
				t.Errorf("saved (-got +want):\n%s", diff)
			}
			if got := strings.Count(lines.String(), "level=WARN"); got != len(tt.want) {
				t.Errorf("%d warnings, want %d: %s", got, len(tt.want), lines.String())
			}
			if strings.Contains(lines.String(), "192.0.2.7") {
				t.Errorf("the log names a caller: %s", lines.String())
			}
			if served != 3 {
				t.Errorf("%d requests were served, want 3", served)
			}
		})
	}
}

func TestExamineProxy(t *testing.T) {
	t.Parallel()
	load := func(settings ...string) config.Config {
		c, err := config.Load(append(settings, "CHEQUER_DATA_DIR="+t.TempDir()))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := load()
	core, err := OpenCore(t.Context(), c, Options{Log: slog.New(slog.DiscardHandler), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer core.Close()
	examine := func(c config.Config) (said []string) {
		if err := core.examineProxy(t.Context(), c, func(level Level, about, format string, args ...any) {
			said = append(said, string(level)+" "+about+": "+fmt.Sprintf(format, args...))
		}); err != nil {
			t.Fatal(err)
		}
		return said
	}
	if said := examine(c); len(said) > 0 {
		t.Errorf("without a proxy: %q", said)
	}
	if err := core.Storage.SaveUntrustedProxy(t.Context(), netip.MustParseAddr("127.0.0.1")); err != nil {
		t.Fatal(err)
	}
	want := []string{"warn proxy: requests came through 127.0.0.1, which is not trusted, so all shoppers share one limit: set CHEQUER_TRUST_PROXY=127.0.0.1 if it is your proxy"}
	if diff := cmp.Diff(examine(c), want); diff != "" {
		t.Errorf("with a proxy (-got +want):\n%s", diff)
	}
	if said := examine(load("CHEQUER_TRUST_PROXY=127.0.0.1")); len(said) > 0 {
		t.Errorf("when the proxy is trusted: %q", said)
	}
}
