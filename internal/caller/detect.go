package caller

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// saveTimeout limits the time to save the address of a proxy.
const saveTimeout = 5 * time.Second

// DetectUntrusted returns a handler that calls next and detects a proxy that CHEQUER_TRUST_PROXY does not
// name. All shoppers behind such a proxy share the rate limit of its address. The first detection is
// logged, and saved for the doctor.
func DetectUntrusted(next http.Handler, proxies []netip.Prefix, save func(context.Context, netip.Addr) error, log *slog.Logger) http.Handler {
	var once sync.Once
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if proxy, untrusted := UntrustedProxy(r, proxies); untrusted {
			once.Do(func() {
				log.Warn("proxy is not trusted, so all callers behind it share one limit", "proxy", proxy, "setting", "CHEQUER_TRUST_PROXY")
				ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), saveTimeout)
				defer cancel()
				if err := save(ctx, proxy); err != nil {
					log.Warn("untrusted proxy not saved", "error", err)
				}
			})
		}
		next.ServeHTTP(w, r)
	})
}
