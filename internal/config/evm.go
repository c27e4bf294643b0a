package config

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// EVM says how the EVM networks are watched: for each one RPCOff, RPCPublic or a
// list of endpoints.
type EVM struct {
	Ethereum    string `env:"ETHEREUM_RPC" show:"endpoints" about:"public, the default: built-in endpoints; off; or endpoints [trusted:][operator=]URL,…"`
	Base        string `env:"BASE_RPC" show:"endpoints" about:"public, the default: built-in endpoints; off; or endpoints [trusted:][operator=]URL,…"`
	Arbitrum    string `env:"ARBITRUM_RPC" show:"endpoints" about:"off, the default; public; or endpoints"`
	Optimism    string `env:"OPTIMISM_RPC" show:"endpoints" about:"off, the default; public; or endpoints"`
	Polygon     string `env:"POLYGON_RPC" show:"endpoints" about:"off, the default; public; or endpoints"`
	Gnosis      string `env:"GNOSIS_RPC" show:"endpoints" about:"off, the default; public; or endpoints"`
	Avalanche   string `env:"AVALANCHE_RPC" show:"endpoints" about:"off, the default; public; or endpoints"`
	Sepolia     string `env:"SEPOLIA_RPC" show:"endpoints" about:"a test network, in place of the real ones: off, the default; public; or endpoints"`
	BaseSepolia string `env:"BASE_SEPOLIA_RPC" show:"endpoints" about:"a test network, in place of the real ones: off, the default; public; or endpoints"`
	// AddressQueries lets endpoints that are not trusted learn our addresses.
	AddressQueries Switch `env:"EVM_ADDRESS_QUERIES" about:"ask endpoints that are not your own about your addresses, which needs less reading: on or off"`
	// Tokens are offered beside EURC and USDC.
	Tokens string `env:"EVM_TOKENS" about:"tokens beside EURC and USDC, such as USDT or base:CODE:0x…:6:USDC"`
}

// How an EVM network is watched without endpoints of one's own choice.
const (
	RPCOff    = "off"
	RPCPublic = "public" // endpoints that are built in
)

// Endpoint is who answers JSON-RPC for an EVM network.
type Endpoint struct {
	Trusted  bool
	Operator string // "" = the domain
	URL      string // may hold a key
}

// endpointForm is [trusted:][operator=]URL.
var endpointForm = regexp.MustCompile(`^(trusted:)?(?:([A-Za-z0-9._-]{1,40})=)?(https?://.+)$`)

// parseEndpoint reads an endpoint; false when it is none.
func parseEndpoint(text string) (Endpoint, bool) {
	m := endpointForm.FindStringSubmatch(text)
	if m == nil {
		return Endpoint{}, false
	}
	u, err := url.Parse(m[3])
	if err != nil || u.Hostname() == "" || u.Fragment != "" {
		return Endpoint{}, false
	}
	return Endpoint{Trusted: m[1] != "", Operator: m[2], URL: m[3]}, true
}

// RPCSetting is how an EVM network is named in the settings, "base-sepolia" as
// CHEQUER_BASE_SEPOLIA_RPC.
func RPCSetting(network string) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(network, "-", "_")) + "_RPC"
}

// byNetwork are the settings by network, the real ones first.
func (e *EVM) byNetwork() (networks []string, values map[string]*string) {
	return []string{"ethereum", "base", "arbitrum", "optimism", "polygon", "gnosis", "avalanche", "sepolia", "base-sepolia"},
		map[string]*string{
			"ethereum": &e.Ethereum, "base": &e.Base, "arbitrum": &e.Arbitrum, "optimism": &e.Optimism, "polygon": &e.Polygon,
			"gnosis": &e.Gnosis, "avalanche": &e.Avalanche, "sepolia": &e.Sepolia, "base-sepolia": &e.BaseSepolia,
		}
}

func isTrial(network string) bool { return strings.HasSuffix(network, "sepolia") }

// RPC returns how an EVM network is watched: RPCOff, RPCPublic, or "" with endpoints.
func (e EVM) RPC(network string) (how string, endpoints []Endpoint) {
	_, values := e.byNetwork()
	return parseRPC(*values[network])
}

// WithRPC returns the settings with another way of watching a network, RPCOff or
// RPCPublic.
func (e EVM) WithRPC(network, how string) EVM {
	_, values := e.byNetwork()
	*values[network] = how
	return e
}

// parseRPC reads the setting of an EVM network.
func parseRPC(value string) (how string, endpoints []Endpoint) {
	if value == RPCOff || value == RPCPublic {
		return value, nil
	}
	for _, text := range parts(value) {
		if endpoint, ok := parseEndpoint(text); ok {
			endpoints = append(endpoints, endpoint)
		}
	}
	return "", endpoints
}

// Trial tells whether a test network is switched on.
func (e EVM) Trial() bool {
	networks, values := e.byNetwork()
	return slices.ContainsFunc(networks, func(n string) bool { return isTrial(n) && *values[n] != RPCOff && *values[n] != "" })
}

// Worthless tells whether live invoices are paid on a test network, in coins that are
// worth nothing.
func (c Config) Worthless() bool {
	return c.EVM.Trial() || c.Bitcoin.Network != "mainnet" || c.Litecoin.Network != "mainnet"
}

// complete fills in what is not set: the public endpoints of Ethereum and Base,
// unless a test network takes their place.
func (e *EVM) complete() {
	trial := e.Trial()
	_, values := e.byNetwork()
	for network, value := range values {
		switch {
		case *value != "":
		case !trial && (network == "ethereum" || network == "base"):
			*value = RPCPublic
		default:
			*value = RPCOff
		}
	}
}

// check finds what the types cannot. An endpoint may hold a key, so none is shown.
func (e EVM) check(fault func(name, format string, args ...any)) {
	networks, values := e.byNetwork()
	trial := e.Trial()
	for _, network := range networks {
		name := strings.TrimPrefix(RPCSetting(network), prefix)
		value := *values[network]
		if trial && !isTrial(network) && value != RPCOff {
			fault(name, "is on, and so is a test network, whose coins are worth nothing: one of the two must be off")
		}
		if value == RPCOff || value == RPCPublic {
			continue
		}
		for i, text := range parts(value) {
			if _, ok := parseEndpoint(text); !ok {
				fault(name, "want off, public, or addresses such as https://rpc.example.org or trusted:http://127.0.0.1:8545; number %d is none", i+1)
			}
		}
	}
}

// shownRPC returns the setting of an EVM network without keys.
func shownRPC(value string) string {
	how, endpoints := parseRPC(value)
	if how != "" {
		return how
	}
	shown := make([]string, len(endpoints))
	for i, endpoint := range endpoints {
		shown[i] = endpoint.shown()
	}
	return strings.Join(shown, ",")
}

// shown is the endpoint without what may be a key: all but its host.
func (e Endpoint) shown() string {
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

// TokenList are the tokens beside EURC and USDC, as they are given.
func (e EVM) TokenList() []string { return parts(e.Tokens) }
