package app

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestRoutes(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("x", 32)
	for name, tt := range map[string]struct {
		basePath string
		paths    []string
		want     string // the handlers that answer, in order
		log      string // text in the only line of the log; "" = no line
	}{
		"below_the_base_path": {
			"/pay", []string{"/pay/", "/pay/api/v2/invoice/new", "/pay/v2/invoice/new", "/pay/readyz", "/pay/invoice/" + id, "/pay/pay/coffee"},
			"pages service service ready pages pages", "",
		},
		"the_desk": {
			"/pay", []string{"/pay/desk", "/pay/desk/", "/pay/desk/signin", "/pay/desktop", "/desk"}, "desk desk desk pages pages", "",
		},
		"the_page_at_which_plugins_ask_for_a_key": {
			"/pay", []string{"/pay/api-keys/authorize", "/pay/api-keys/authorize/", "/pay//api-keys/authorize", "/pay/api-keys/authorized", "/api-keys/authorize"},
			"desk desk desk pages pages", "",
		},
		"the_API_of_plugins": {
			"/pay", []string{"/pay/api/v1/server/info", "/pay//api//v1", "/pay/api/v11", "/api/v1/stores"}, "plugins plugins service service", "",
		},
		"pages_whose_addresses_plugins_make": {
			"/pay", []string{"/pay//i/" + id, "/pay//modal/btcpay.js", "/pay/invoice"}, "pages pages pages", "",
		},
		"outside_the_base_path_the_API_answers_for_its_paths": {
			"/pay", []string{"/api/v2/invoice/new", "/api", "//v2//invoice/new"}, "service service service", `received_below=/ served_below=/pay/`,
		},
		"a_proxy_that_strips_the_path_is_logged_once": {
			"/pay", []string{"/invoice/" + id, "/", "/invoice/" + id}, "pages pages pages", `received_below=/ served_below=/pay/`,
		},
		"a_missing_base_path_is_logged_once": {
			"", []string{"/shop/pay/invoice/" + id, "/shop/pay/static/pay.0123456789ab.css"}, "pages pages", `received_below=/shop/pay/ served_below=/`,
		},
		"unrelated_paths_are_not_logged": {
			"/pay", []string{"/favicon.ico", "/wp-login.php", "/robots.txt", "/invoice/1"}, "pages pages pages pages", "",
		},
		"without_a_base_path_nothing_is_logged": {
			"", []string{"/", "/api/v2/invoice/new", "/invoice/" + id, "/readyz", "/static/pay.0123456789ab.css"}, "pages service pages ready pages", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answers := func(name string) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if (name == "desk" || name == "pages") && strings.Contains(r.URL.Path, "//") {
						name += " with repeated slashes"
					}
					_, _ = io.WriteString(w, name)
				})
			}
			var log strings.Builder
			h := routes(tt.basePath, handlers{answers("service"), answers("plugins"), answers("pages"), answers("desk"), answers("ready")}, slog.New(slog.NewTextHandler(&log, nil)))
			var got []string
			for _, path := range tt.paths {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
				got = append(got, w.Body.String())
			}
			if got := strings.Join(got, " "); got != tt.want {
				t.Errorf("answered by %s, want %s", got, tt.want)
			}
			lines := strings.Count(log.String(), "\n")
			want := 0
			if tt.log != "" {
				want = 1
			}
			if lines != want || !strings.Contains(log.String(), tt.log) {
				t.Errorf("the log has %d lines, want %d with %q:\n%s", lines, want, tt.log, log.String())
			}
		})
	}
}
