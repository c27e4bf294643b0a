package config

import (
	"slices"
	"strings"
)

// Monero has the settings of Monero.
type Monero struct {
	// Node is the address of the merchant's own daemon, or NodeOff.
	Node string `env:"NODE" envDefault:"off" show:"endpoints" about:"your own node (monerod), such as http://user:password@127.0.0.1:18081, https://host:18089#sha256=HEX with the certificate of the node, or trusted:https://host:18089 outside your network; or off"`
	// Network is mainnet or a test network.
	Network string `env:"NETWORK" envDefault:"mainnet" about:"mainnet; or a test network: stagenet, testnet, regtest"`
}

// Off reports whether Monero is not watched.
func (m Monero) Off() bool { return m.Node == NodeOff || m.Node == "" }

// moneroNames are the names of the networks of Monero.
var moneroNames = []string{"mainnet", "stagenet", "testnet", "regtest"}

// check calls fault for each fault that the types of the fields do not detect. Package networks checks the address of the
// node.
func (m Monero) check(fault func(name, format string, args ...any)) {
	if !slices.Contains(moneroNames, m.Network) {
		fault("MONERO_NETWORK", "%q is not one of %s", m.Network, strings.Join(moneroNames, ", "))
	}
}
