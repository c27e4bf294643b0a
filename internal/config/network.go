package config

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// parseNetwork parses a network such as 10.0.0.0/8. A single address is the network that contains
// only this address.
func parseNetwork(text string) (netip.Prefix, error) {
	if !strings.Contains(text, "/") {
		address, err := netip.ParseAddr(text)
		if err != nil || address.Zone() != "" {
			return netip.Prefix{}, errNetwork
		}
		address = address.Unmap()
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	network, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, errNetwork
	}
	if network != network.Masked() {
		return netip.Prefix{}, fmt.Errorf("has bits set after the first %d: write %s, or the address alone", network.Bits(), network.Masked())
	}
	if network.Addr().Is4In6() && network.Bits() >= 96 {
		network = netip.PrefixFrom(network.Addr().Unmap(), network.Bits()-96)
	}
	return network, nil
}

var errNetwork = errors.New("is not a network like 10.0.0.0/8 or 127.0.0.1")

// networks parses a list of networks that has been checked.
func networks(list string) []netip.Prefix {
	var parsed []netip.Prefix
	for _, text := range splitList(list) {
		if network, err := parseNetwork(text); err == nil {
			parsed = append(parsed, network)
		}
	}
	return parsed
}
