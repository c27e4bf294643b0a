package app

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"chequer/internal/caller"
	"chequer/internal/config"
)

// saveProxyTimeout limits the time to save the address of a proxy.
const saveProxyTimeout = 5 * time.Second

// noticeProxy returns a handler that calls next and detects a proxy that CHEQUER_TRUST_PROXY does not
// name. All shoppers behind such a proxy share the rate limit of its address. The first detection is
// logged, and saved for the doctor.
func noticeProxy(next http.Handler, proxies []netip.Prefix, save func(context.Context, netip.Addr) error, log *slog.Logger) http.Handler {
	var once sync.Once
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if proxy, untrusted := caller.Untrusted(r, proxies); untrusted {
			once.Do(func() {
				log.Warn("proxy is not trusted, so all callers behind it share one limit", "proxy", proxy, "setting", "CHEQUER_TRUST_PROXY")
				ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), saveProxyTimeout)
				defer cancel()
				if err := save(ctx, proxy); err != nil {
					log.Warn("untrusted proxy not saved", "error", err)
				}
			})
		}
		next.ServeHTTP(w, r)
	})
}

// examineProxy reports a proxy that the server noticed and that is still not trusted.
func (c *Core) examineProxy(ctx context.Context, cfg config.Config, say func(Level, string, string, ...any)) error {
	proxy, err := c.Storage.UntrustedProxy(ctx)
	if err != nil || !proxy.IsValid() {
		return err
	}
	if !slices.ContainsFunc(cfg.Proxies(), func(p netip.Prefix) bool { return p.Contains(proxy) }) {
		say(LevelWarn, "proxy", "requests came through %s, which is not trusted, so all shoppers share one limit: set CHEQUER_TRUST_PROXY=%s if it is your proxy", proxy, proxy)
	}
	return nil
}
