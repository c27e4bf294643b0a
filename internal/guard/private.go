package guard

import (
	"net/netip"
	"slices"
	"strings"
)

// privateDomains are the top-level domains of hosts that are not on the internet. See RFC 6761, RFC 6762, RFC 8375, and the
// reservation of "internal" by ICANN.
var privateDomains = []string{"localhost", "local", "internal", "home.arpa", "test"}

// IsPrivateHost reports whether a host, an IP address or a name, is this machine or in a private network. It decides by the
// text alone: a name that it does not know as private may still resolve to a private address.
func IsPrivateHost(host string) bool {
	if address, err := netip.ParseAddr(host); err == nil {
		return address.IsLoopback() || address.IsPrivate() || address.IsLinkLocalUnicast()
	}
	return isPrivateName(host)
}

// isPrivateName reports whether a host name is one of a private network: localhost, a name in a private domain, or a name of one
// label. The root zone has no hosts of one label (ICANN, SAC 053), so that only the resolver of a network knows them, like the
// names of containers.
func isPrivateName(name string) bool {
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	return !strings.Contains(name, ".") || slices.ContainsFunc(privateDomains, func(domain string) bool { return strings.HasSuffix(name, "."+domain) })
}
