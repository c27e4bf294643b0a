package caller_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/caller"
)

func TestDetectUntrusted_warns_once(t *testing.T) {
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
			h := caller.DetectUntrusted(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }), tt.trusted,
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
