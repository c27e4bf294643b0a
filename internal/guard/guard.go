// Package guard lets the program call addresses that others choose without being
// led into the network that it stands in.
package guard

import (
	"net/netip"
	"slices"
)

// Refused is why an address is not called.
type Refused struct {
	// Reason is the end of a sentence that begins with the address.
	Reason string
}

// Error implements error.
func (r *Refused) Error() string { return "the address " + r.Reason }

// refused are IPv4's ranges that are not the public internet's. See RFC 6890.
var refused = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
	"224.0.0.0/4", "240.0.0.0/4",
)

// public is what IPv6 has of public addresses: everything else in it is
// loopback, private, NAT64, multicast or not given out yet. See RFC 4291,
// section 2.4.
var public = netip.MustParsePrefix("2000::/3")

// refusedInPublic are ranges therein that lead elsewhere: Teredo and its like,
// documentation, and 6to4, which holds any IPv4 address.
var refusedInPublic = prefixes("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

// Public tells whether an address is one of the public internet. An IPv4 address
// in the clothes of an IPv6 one is judged as what it is.
func Public(address netip.Addr) bool {
	address = address.Unmap()
	switch {
	case !address.IsValid() || address.Zone() != "":
		return false
	case address.Is4():
		return !within(refused, address)
	}
	return public.Contains(address) && !within(refusedInPublic, address)
}

// within tells whether an address is in one of some ranges.
func within(ranges []netip.Prefix, address netip.Addr) bool {
	return slices.ContainsFunc(ranges, func(p netip.Prefix) bool { return p.Contains(address) })
}
