// Package caller tells who calls, as far as an address can.
package caller

import (
	"net"
	"net/netip"

	"github.com/labstack/echo/v4"
)

// Extractor tells a caller's address: that of the socket or, where trusted
// proxies stand before it, the last one in X-Forwarded-For that is none of them.
func Extractor(proxies []*net.IPNet) echo.IPExtractor {
	if len(proxies) == 0 {
		return echo.ExtractIPDirect()
	}
	options := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, n := range proxies {
		options = append(options, echo.TrustIPRange(n))
	}
	return echo.ExtractIPFromXFFHeader(options...)
}

// Network is what one caller has of an address: all of IPv4's, and the 64 bits of
// IPv6's that a provider gives to one customer.
func Network(ip string) string {
	if host, _, err := net.SplitHostPort(ip); err == nil {
		ip = host
	}
	address, err := netip.ParseAddr(ip)
	if err != nil || address.Unmap().Is4() {
		return ip
	}
	prefix, err := address.WithZone("").Prefix(64)
	if err != nil {
		return ip
	}
	return prefix.String()
}
