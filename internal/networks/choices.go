package networks

import (
	"fmt"
	"slices"
	"strings"

	"chequer/internal/chain/ethereum"
	"chequer/internal/config"
	"chequer/internal/keys"
)

// Choice is a setting that would add payment methods to a wallet without a node of the merchant, at a cost in
// privacy.
type Choice struct {
	Setting string
	Value   string
	Codes   []string // codes of the methods that the setting adds
	Cost    string   // the information that becomes known, and to which parties
}

// String describes the methods and the cost of the setting.
func (c Choice) String() string {
	return fmt.Sprintf("%s=%s gives %s; then %s", c.Setting, c.Value, strings.Join(c.Codes, ", "), c.Cost)
}

// ChoicesOf returns the settings that would add payment methods to a live wallet of a kind. It
// makes no network requests.
func ChoicesOf(c config.Config, kind keys.Kind) ([]Choice, error) {
	if kind != keys.ETH {
		return nil, nil // other kinds need a node
	}
	current, err := MethodsOf(c, kind)
	if err != nil {
		return nil, err
	}
	var found []Choice
	add := func(choice Choice, evm config.EVM) {
		changed := c
		changed.EVM = evm
		methods, err := MethodsOf(changed, kind)
		if err != nil {
			return // the setting alone is invalid, so it adds no methods
		}
		choice.Codes = slices.DeleteFunc(methods.Offered, func(code string) bool { return slices.Contains(current.Offered, code) })
		if len(choice.Codes) > 0 {
			found = append(found, choice)
		}
	}
	evm := c.EVM
	evm.AddressQueries = true
	add(Choice{Setting: addressQueries, Value: "on", Cost: "public endpoints learn " + addressCost}, evm)
	for _, p := range ethereum.Networks {
		network := string(p.ID)
		if mode, _ := c.EVM.RPC(network); mode != config.RPCOff || p.Testnet || c.EVM.Testnet() {
			continue
		}
		add(Choice{
			Setting: config.RPCSetting(network), Value: config.RPCPublic,
			Cost: "its public endpoints learn " + networkCost(bool(c.EVM.AddressQueries)),
		}, c.EVM.WithRPC(network, config.RPCPublic))
	}
	return found, nil
}
