package config

import (
	"net/url"
	"slices"
	"strings"
)

// Chain has the settings of one network of Bitcoin's family.
type Chain struct {
	// Node is the address of the merchant's own node, NodeLight or NodeOff. Load
	// replaces an empty value by the default of the network. Elsewhere empty means NodeOff.
	Node string `env:"NODE" show:"url" about:"your own node, such as http://user:password@127.0.0.1:8332; off, the default for Litecoin; or light, the light client, which is the default for Bitcoin and exists only for Bitcoin"`
	// Cookie is the cookie file of a node, in place of user and password.
	Cookie string `env:"NODE_COOKIE" about:"cookie file of your own node, in place of user and password"`
	// Cert is the file with the certificate of a node, if it is self-signed.
	Cert string `env:"NODE_CERT" about:"file with the certificate of your own node, if it is self-signed"`
	// Network is mainnet or a test network.
	Network string `env:"NETWORK" envDefault:"mainnet" about:"mainnet; or a test network: testnet4 (Bitcoin), signet (Bitcoin), testnet (Litecoin), regtest"`
}

// Values for a network that is not watched through the merchant's own node.
const (
	NodeLight = "light"
	NodeOff   = "off"
)

// Off reports whether the network is not watched.
func (c Chain) Off() bool { return c.Node == NodeOff || c.Node == "" }

// Peers returns the addresses to which the light client connects before others.
func (c Config) Peers() []string { return splitList(c.BitcoinPeers) }

// check calls fault for each fault that the types of the fields do not detect. light reports whether the
// network has a light client; networks are the allowed names.
func (c Chain) check(fault func(name, format string, args ...any), name string, light bool, networks ...string) {
	switch u, err := url.Parse(c.Node); {
	case c.Off() || c.Node == NodeLight && light:
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "":
		allowed := "off or an address like http://user:password@127.0.0.1:8332"
		if light {
			allowed = "light, " + allowed
		}
		fault(name+"_NODE", "must be %s", allowed) // the error omits the value, which may contain a password
	case c.Cookie != "" && u.User != nil:
		fault(name+"_NODE_COOKIE", "is set together with user and password in %s%s_NODE: set only one of the two", prefix, name)
	}
	if !slices.Contains(networks, c.Network) && c.Network != "" {
		fault(name+"_NETWORK", "%q is not one of %s", c.Network, strings.Join(networks, ", "))
	}
}
