package networks

import (
	"log/slog"
	"slices"
	"strings"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/ethereum"
	"chequer/internal/chain/lightning"
	"chequer/internal/config"
	"chequer/internal/keys"
	"chequer/internal/money"
	"chequer/internal/prices"
)

// Methods are the payment methods of a kind of wallet under some settings.
type Methods struct {
	Offered []string    `json:"offered"` // codes, in the server's order
	Off     []MethodOff `json:"off"`
	// More are the methods of networks that the settings do not name.
	More []MethodOff `json:"more,omitempty"`
}

// MethodOff is a group of payment methods that are not offered for one reason.
type MethodOff struct {
	Codes  []string `json:"codes"`
	Reason string   `json:"reason"` // includes the setting that would change it
}

// MethodsOf returns the payment methods of a live wallet of a kind. It makes no network
// requests.
func MethodsOf(c config.Config, kind keys.Kind) (Methods, error) {
	log := slog.New(slog.DiscardHandler)
	all, err := New(c, nil, time.Now, log)
	if err != nil {
		return Methods{}, err
	}
	currentRates, loop, err := prices.New(c, false, time.Now, log)
	if err != nil {
		return Methods{}, err
	}
	all = append(all, Network{Network: anyConnection})
	m := Methods{Offered: []string{}, Off: []MethodOff{}}
	for _, n := range all {
		if n.Wallet() != string(kind) {
			continue
		}
		for _, a := range n.allAssets() {
			reason := offReason(c, n, a)
			if _, err := currentRates().Rate(a.Rate, a.Currency, money.EUR); reason == "" && loop == nil && err != nil {
				reason = "no fixed rate: add " + a.Rate + "-EUR=… to CHEQUER_RATES"
			}
			if reason == "" {
				m.Offered = append(m.Offered, a.Code)
				continue
			}
			m.Off = addOff(m.Off, a.Code, reason)
		}
	}
	if kind == keys.ETH && !c.EVM.Testnet() {
		m.More = otherNetworks(all, bool(c.EVM.AddressQueries))
	}
	return m, nil
}

// anyConnection is a Lightning network without a provider. All connections offer its method.
var anyConnection = lightning.NewNetwork(lightning.NetworkConfig{})

// addOff adds a method to the group of methods that are off for the same reason.
func addOff(off []MethodOff, code, reason string) []MethodOff {
	i := slices.IndexFunc(off, func(o MethodOff) bool { return o.Reason == reason })
	if i < 0 {
		off, i = append(off, MethodOff{Reason: reason}), len(off)
	}
	off[i].Codes = append(off[i].Codes, code)
	return off
}

// otherNetworks returns the methods of the EVM main networks that are not in a list. queryable reports
// whether endpoints may be queried for balances of addresses.
func otherNetworks(all []Network, queryable bool) []MethodOff {
	var methods []MethodOff
	for _, p := range ethereum.Networks {
		if p.Testnet || slices.ContainsFunc(all, func(n Network) bool { return n.ID() == p.ID }) {
			continue
		}
		reason := "the network is off; " + config.RPCSetting(string(p.ID)) + "=public switches it on, and its public endpoints learn " + networkCost(queryable)
		if !queryable {
			reason += "; " + p.NativeCoin() + " also needs " + addressQueries + "=on"
		}
		for _, a := range p.Assets {
			methods = addOff(methods, a.Code, reason)
		}
	}
	return methods
}

// networkCost returns the information that the public endpoints of a network receive. queryable reports
// whether they may be queried by address.
func networkCost(queryable bool) string {
	if queryable {
		return "the address of this server, the transactions that it looks up, and " + addressCost
	}
	return "the address of this server and the transactions that it looks up"
}

// offReason returns why an asset of a network is not offered; "" if it is offered.
func offReason(c config.Config, n Network, a chain.Asset) string {
	if !n.Watched() {
		if c.Unwatched {
			return ""
		}
		return "the network " + n.UnwatchedReason()
	}
	e, isEVM := n.Network.(EVM)
	if !isEVM {
		return ""
	}
	for _, fault := range e.TokenFaults() {
		if fault.Asset != a.Code {
			continue
		}
		if fault.Unreadable {
			return balancesReason(n.Setting)
		}
		return fault.Text
	}
	if a.Policy.Balance && !e.Quorum.QueryableByAddress() {
		return balancesReason(n.Setting)
	}
	return ""
}

// UnwatchedReason describes why a network that is not watched is not offered, and how that can be changed.
func (n Network) UnwatchedReason() string {
	return "is not offered, because it is not watched; " + n.Setting + " switches it on"
}

// balancesReason returns why a method that is observed by balances is off, how it can be enabled,
// and what that costs in privacy.
func balancesReason(setting string) string {
	return "only balances of your addresses show its payments, and no endpoint may be queried for them: " + Remedies(setting)
}

// String returns a one-line summary of the methods that are offered and off.
func (m Methods) String() string {
	text := "gives " + strings.Join(m.Offered, ", ")
	if len(m.Offered) == 0 {
		text = "gives no payment method"
	}
	var off []string
	for _, o := range m.Off {
		off = append(off, o.Codes...)
	}
	if len(off) > 0 {
		text += "; off: " + strings.Join(off, ", ")
	}
	return text
}

// OffReasons describes the reasons of the groups of methods that are off.
func (m Methods) OffReasons() string {
	var groups []string
	for _, o := range m.Off {
		groups = append(groups, strings.Join(o.Codes, ", ")+": "+o.Reason)
	}
	return strings.Join(groups, "; ")
}
