// Package guard connects to addresses that merchants and other programs choose. It refuses addresses
// in the server's own network.
package guard

import (
	"net/netip"
	"slices"
)

// RefusedError is the reason why an address is not called.
type RefusedError struct {
	// Reason is the rest of a sentence that begins with the address.
	Reason string
}

// Error implements error.
func (e *RefusedError) Error() string { return "the address " + e.Reason }

// refusedPrefixes are the IPv4 ranges that are not part of the public internet. See RFC 6890.
var refusedPrefixes = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
	"224.0.0.0/4", "240.0.0.0/4",
)

// public is the range of public IPv6 addresses: everything else is loopback, private, NAT64,
// multicast or not allocated yet. See RFC 4291, section 2.4.
var public = netip.MustParsePrefix("2000::/3")

// refusedInPublic are ranges within public whose addresses are not public: Teredo and other protocols,
// documentation, and 6to4, which can contain any IPv4 address. See RFC 6890 and RFC 9637.
var refusedInPublic = prefixes("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

// Public reports whether an address is part of the public internet. An IPv4-mapped IPv6 address is
// treated as the IPv4 address.
func Public(address netip.Addr) bool {
	address = address.Unmap()
	switch {
	case !address.IsValid() || address.Zone() != "":
		return false
	case address.Is4():
		return !within(refusedPrefixes, address)
	}
	return public.Contains(address) && !within(refusedInPublic, address)
}

// within reports whether an address is in one of the ranges.
func within(ranges []netip.Prefix, address netip.Addr) bool {
	return slices.ContainsFunc(ranges, func(p netip.Prefix) bool { return p.Contains(address) })
}
