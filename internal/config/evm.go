package config

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// EVM has the setting of each EVM network: RPCOff, RPCPublic or a list of endpoints.
type EVM struct {
	Ethereum    string `env:"ETHEREUM_RPC" show:"endpoints" about:"public, the default: built-in endpoints; off; or endpoints [trusted:][operator=]URL,…"`
	Base        string `env:"BASE_RPC" show:"endpoints" about:"public, the default: built-in endpoints; off; or endpoints [trusted:][operator=]URL,…"`
	Arbitrum    string `env:"ARBITRUM_RPC" show:"endpoints" about:"off, the default; public; or endpoints"`
	Optimism    string `env:"OPTIMISM_RPC" show:"endpoints" about:"off, the default; public; or endpoints"`
	Polygon     string `env:"POLYGON_RPC" show:"endpoints" about:"off, the default; public; or endpoints"`
	Gnosis      string `env:"GNOSIS_RPC" show:"endpoints" about:"off, the default; public; or endpoints"`
	Avalanche   string `env:"AVALANCHE_RPC" show:"endpoints" about:"off, the default; public; or endpoints"`
	Sepolia     string `env:"SEPOLIA_RPC" show:"endpoints" about:"a test network, in place of the main networks: off, the default; public; or endpoints"`
	BaseSepolia string `env:"BASE_SEPOLIA_RPC" show:"endpoints" about:"a test network, in place of the main networks: off, the default; public; or endpoints"`
	// AddressQueries allows queries about the merchant's addresses to untrusted endpoints.
	AddressQueries Switch `env:"EVM_ADDRESS_QUERIES" about:"ask endpoints that are not your own about your addresses, which needs less reading: on or off"`
	// Tokens are offered in addition to EURC and USDC.
	Tokens string `env:"EVM_TOKENS" about:"tokens beside EURC and USDC, such as USDT or base:CODE:0x…:6:USDC"`
}

// Values for an EVM network without a list of endpoints.
const (
	RPCOff    = "off"
	RPCPublic = "public" // built-in endpoints
)

// Endpoint is a JSON-RPC server of an EVM network.
type Endpoint struct {
	Trusted  bool
	Operator string // "": the domain is the operator
	URL      string // may contain a key
}

// endpointPattern matches [trusted:][operator=]URL.
var endpointPattern = regexp.MustCompile(`^(trusted:)?(?:([A-Za-z0-9._-]{1,40})=)?(https?://.+)$`)

// parseEndpoint parses an endpoint. It returns false if the text is invalid.
func parseEndpoint(text string) (Endpoint, bool) {
	m := endpointPattern.FindStringSubmatch(text)
	if m == nil {
		return Endpoint{}, false
	}
	u, err := url.Parse(m[3])
	if err != nil || u.Hostname() == "" || u.Fragment != "" {
		return Endpoint{}, false
	}
	return Endpoint{Trusted: m[1] != "", Operator: m[2], URL: m[3]}, true
}

// RPCSetting returns the name of the setting of an EVM network: CHEQUER_BASE_SEPOLIA_RPC for
// "base-sepolia".
func RPCSetting(network string) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(network, "-", "_")) + "_RPC"
}

// byNetwork returns the networks, main networks first, and their settings.
func (e *EVM) byNetwork() (networks []string, values map[string]*string) {
	return []string{"ethereum", "base", "arbitrum", "optimism", "polygon", "gnosis", "avalanche", "sepolia", "base-sepolia"},
		map[string]*string{
			"ethereum": &e.Ethereum, "base": &e.Base, "arbitrum": &e.Arbitrum, "optimism": &e.Optimism, "polygon": &e.Polygon,
			"gnosis": &e.Gnosis, "avalanche": &e.Avalanche, "sepolia": &e.Sepolia, "base-sepolia": &e.BaseSepolia,
		}
}

func isTestnet(network string) bool { return strings.HasSuffix(network, "sepolia") }

// RPC returns the setting of an EVM network: RPCOff, RPCPublic, or "" with endpoints.
func (e EVM) RPC(network string) (mode string, endpoints []Endpoint) {
	_, values := e.byNetwork()
	return parseRPC(*values[network])
}

// WithRPC returns the settings with RPCOff or RPCPublic for a network.
func (e EVM) WithRPC(network, mode string) EVM {
	_, values := e.byNetwork()
	*values[network] = mode
	return e
}

// parseRPC parses the setting of an EVM network.
func parseRPC(value string) (mode string, endpoints []Endpoint) {
	if value == RPCOff || value == RPCPublic {
		return value, nil
	}
	for _, text := range splitList(value) {
		if endpoint, ok := parseEndpoint(text); ok {
			endpoints = append(endpoints, endpoint)
		}
	}
	return "", endpoints
}

// Testnet reports whether an EVM test network is on.
func (e EVM) Testnet() bool {
	networks, values := e.byNetwork()
	return slices.ContainsFunc(networks, func(n string) bool { return isTestnet(n) && *values[n] != RPCOff && *values[n] != "" })
}

// Worthless reports whether live invoices are paid on a test network, in coins without value.
func (c Config) Worthless() bool {
	return c.EVM.Testnet() || c.Bitcoin.Network != "mainnet" || c.Litecoin.Network != "mainnet" || c.Monero.Network != "mainnet"
}

// complete sets the defaults: the public endpoints of Ethereum and Base, unless a test network is
// on.
func (e *EVM) complete() {
	testnet := e.Testnet()
	_, values := e.byNetwork()
	for network, value := range values {
		switch {
		case *value != "":
		case !testnet && (network == "ethereum" || network == "base"):
			*value = RPCPublic
		default:
			*value = RPCOff
		}
	}
}

// check calls fault for each of the faults that the types of the fields do not detect. Its errors do not contain
// endpoints, because these may contain keys.
func (e EVM) check(fault func(name, format string, args ...any)) {
	networks, values := e.byNetwork()
	testnet := e.Testnet()
	for _, network := range networks {
		name := strings.TrimPrefix(RPCSetting(network), prefix)
		value := *values[network]
		if testnet && !isTestnet(network) && value != RPCOff {
			fault(name, "is on, and so is a test network, whose coins have no value: one of the two must be off")
		}
		if value == RPCOff || value == RPCPublic {
			continue
		}
		for i, text := range splitList(value) {
			if _, ok := parseEndpoint(text); !ok {
				fault(name, "must be off, public, or addresses such as https://rpc.example.org or trusted:http://127.0.0.1:8545; number %d is invalid", i+1)
			}
		}
	}
}

// shownRPC returns the setting of an EVM network without keys.
func shownRPC(value string) string {
	mode, endpoints := parseRPC(value)
	if mode != "" {
		return mode
	}
	texts := make([]string, len(endpoints))
	for i, endpoint := range endpoints {
		texts[i] = endpoint.redacted()
	}
	return strings.Join(texts, ",")
}

// redacted returns the endpoint with only its host, because all other parts may contain a key.
func (e Endpoint) redacted() string {
	text := ""
	if e.Trusted {
		text = "trusted:"
	}
	if e.Operator != "" {
		text += e.Operator + "="
	}
	u, err := url.Parse(e.URL)
	if err != nil {
		return text + "(set)"
	}
	text += u.Scheme + "://" + u.Host
	if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil {
		text += "/…"
	}
	return text
}

// TokenList returns the tokens besides EURC and USDC, without a check.
func (e EVM) TokenList() []string { return splitList(e.Tokens) }
