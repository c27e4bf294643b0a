package doctor

import (
	"context"
	"net/netip"
	"slices"
)

// examineProxy warns if the last untrusted proxy that forwarded requests is still not trusted.
func (e *examination) examineProxy(ctx context.Context) error {
	proxy, err := e.Storage.UntrustedProxy(ctx)
	if err != nil || !proxy.IsValid() {
		return err
	}
	if !slices.ContainsFunc(e.Settings.Proxies(), func(p netip.Prefix) bool { return p.Contains(proxy) }) {
		e.warn("proxy", "requests came through %s, which is not trusted, so all shoppers share one limit: set CHEQUER_TRUST_PROXY=%s if it is your proxy", proxy, proxy)
	}
	return nil
}
