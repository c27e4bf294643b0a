package config

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// parsePrefix parses an IP network such as 10.0.0.0/8. A single address is the network that contains
// only this address.
func parsePrefix(text string) (netip.Prefix, error) {
	if !strings.Contains(text, "/") {
		address, err := netip.ParseAddr(text)
		if err != nil || address.Zone() != "" {
			return netip.Prefix{}, errPrefix
		}
		address = address.Unmap()
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, errPrefix
	}
	if prefix != prefix.Masked() {
		return netip.Prefix{}, fmt.Errorf("has bits set after the first %d: write %s, or the address alone", prefix.Bits(), prefix.Masked())
	}
	if prefix.Addr().Is4In6() && prefix.Bits() >= 96 {
		prefix = netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-96)
	}
	return prefix, nil
}

var errPrefix = errors.New("is not an IP network like 10.0.0.0/8 or 127.0.0.1")

// prefixes parses a list of IP networks that has been checked.
func prefixes(list string) []netip.Prefix {
	var parsed []netip.Prefix
	for _, text := range splitList(list) {
		if prefix, err := parsePrefix(text); err == nil {
			parsed = append(parsed, prefix)
		}
	}
	return parsed
}
