// Package caller identifies callers by their network addresses.
package caller

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

// Extractor returns a function that returns a caller's address. It is the address of
// the connection unless that belongs to a trusted proxy. Each trusted proxy appends
// the address of its own peer to X-Forwarded-For, so the header is read from its end
// up to the first address that is not a trusted proxy's. An entry that is not an
// address ends the search: everything before it was reported by an unidentified
// peer, and the address of the proxy that reported the entry is returned.
func Extractor(proxies []netip.Prefix) echo.IPExtractor {
	return func(r *http.Request) string {
		peer, ok := parseAddr(r.RemoteAddr)
		if !ok {
			return r.RemoteAddr
		}
		hops := strings.Split(strings.Join(r.Header.Values(echo.HeaderXForwardedFor), ","), ",")
		for i := len(hops) - 1; i >= 0 && contains(proxies, peer); i-- {
			hop, ok := parseAddr(strings.TrimSpace(hops[i]))
			if !ok {
				break
			}
			peer = hop
		}
		return peer.String()
	}
}

// UntrustedProxy reports whether a request came through a proxy that is not trusted, and returns its
// address: a loopback or private address that sends headers that only proxies add.
func UntrustedProxy(r *http.Request, proxies []netip.Prefix) (proxy netip.Addr, untrusted bool) {
	if !isForwarded(r) {
		return netip.Addr{}, false
	}
	peer, ok := parseAddr(r.RemoteAddr)
	return peer, ok && (peer.IsLoopback() || peer.IsPrivate() || peer.IsLinkLocalUnicast()) && !contains(proxies, peer)
}

// Protected reports whether the secrets of a request were not readable on the way: the request came over TLS or from this
// machine. If it came from this machine or from a trusted proxy with headers that only proxies add, X-Forwarded-Proto
// decides or, without that header, whether the public address of the server has https.
func Protected(r *http.Request, proxies []netip.Prefix, https bool) bool {
	peer, ok := parseAddr(r.RemoteAddr)
	if r.TLS != nil || !ok {
		return r.TLS != nil
	}
	isTrusted := contains(proxies, peer)
	protocols := r.Header.Values(echo.HeaderXForwardedProto)
	switch {
	case !peer.IsLoopback() && !isTrusted:
		return false
	case len(protocols) > 0:
		return strings.EqualFold(protocols[len(protocols)-1], "https")
	case isTrusted || isForwarded(r):
		return https
	}
	return true
}

// forwardingHeaders are the headers that only proxies add.
var forwardingHeaders = []string{echo.HeaderXForwardedFor, "Forwarded", echo.HeaderXRealIP}

// isForwarded reports whether a request has a header that only proxies add.
func isForwarded(r *http.Request) bool {
	return slices.ContainsFunc(forwardingHeaders, func(name string) bool { return r.Header.Get(name) != "" })
}

func contains(proxies []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(a) })
}

// parseAddr parses an address as proxies write it: with or without a port, an IPv6
// address with or without brackets.
func parseAddr(text string) (netip.Addr, bool) {
	if addrPort, err := netip.ParseAddrPort(text); err == nil {
		return addrPort.Addr().Unmap().WithZone(""), true
	}
	if inner, found := strings.CutPrefix(text, "["); found {
		text = strings.TrimSuffix(inner, "]")
	}
	address, err := netip.ParseAddr(text)
	return address.Unmap().WithZone(""), err == nil
}

// Network returns the network that limits for one caller apply to: an IPv4 address,
// or the /64 of an IPv6 address, because a provider assigns at least a /64 to each
// customer. Other text is returned unchanged.
func Network(ip string) string { return block(ip, 32, 64) }

// Block is an address block that many callers, or one caller with many addresses,
// may share.
type Block struct {
	Prefix string
	// Divisor defines the part of a common limit that the block may use: 1/Divisor.
	Divisor int
}

// Blocks returns the blocks that contain a caller's address. Each block may use a
// part of a limit for all callers. The sizes are those that providers assign to
// homes (a /56, or one IPv4 address) and to companies (a /48, or a /24 of IPv4). An
// empty address is in no block.
func Blocks(ip string) []Block {
	if ip == "" {
		return nil
	}
	return []Block{{Prefix: block(ip, 32, 56), Divisor: 20}, {Prefix: block(ip, 24, 48), Divisor: 10}}
}

// ShareOf returns the block's part of a common limit, at least 1.
func (b Block) ShareOf(limit int) int { return (limit + b.Divisor - 1) / b.Divisor }

// block returns the network of an address with the given prefix lengths. An IPv4
// network of 32 bits is written as the address.
func block(ip string, bits4, bits6 int) string {
	address, ok := parseAddr(ip)
	if !ok {
		return ip
	}
	bits := bits6
	if address.Is4() {
		bits = bits4
	}
	if bits == address.BitLen() {
		return address.String()
	}
	return netip.PrefixFrom(address, bits).Masked().String()
}

type contextKey struct{}

// NewContext returns a context that carries the address of the caller for whom the
// program makes an internal call.
func NewContext(ctx context.Context, address string) context.Context {
	return context.WithValue(ctx, contextKey{}, address)
}

// FromContext returns the address that NewContext stored, or "".
func FromContext(ctx context.Context) string {
	address, _ := ctx.Value(contextKey{}).(string)
	return address
}
