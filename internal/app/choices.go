package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"chequer/internal/chain/ethereum"
	"chequer/internal/config"
	"chequer/internal/durable"
	"chequer/internal/keys"
)

// addressQueries is the setting that allows endpoints to be queried for the balances of addresses.
const addressQueries = "CHEQUER_EVM_ADDRESS_QUERIES"

// addressPrice names the information that such endpoints receive.
const addressPrice = "your addresses, when each was made and what it holds"

// networkPrice returns the information that the public endpoints of a network receive.
func networkPrice(mayAsk bool) string {
	if mayAsk {
		return "the address of this server, the transactions that it looks up, and " + addressPrice
	}
	return "the address of this server and the transactions that it looks up"
}

// Choice is a setting that would add payment methods to a wallet without an own node, at a cost in
// privacy.
type Choice struct {
	Setting string
	Value   string
	Codes   []string // codes of the methods that the setting adds
	Price   string   // what becomes known, and to which parties
}

// String describes the methods and the cost of the setting.
func (c Choice) String() string {
	return fmt.Sprintf("%s=%s gives %s; then %s", c.Setting, c.Value, strings.Join(c.Codes, ", "), c.Price)
}

// WalletChoices returns the settings that would add payment methods to a live wallet of a kind. It
// makes no network requests.
func WalletChoices(c config.Config, kind keys.Kind) ([]Choice, error) {
	if kind != keys.ETH {
		return nil, nil // other kinds need a node
	}
	now, err := WalletMethods(c, kind)
	if err != nil {
		return nil, err
	}
	var found []Choice
	add := func(choice Choice, evm config.EVM) {
		with := c
		with.EVM = evm
		then, err := WalletMethods(with, kind)
		if err != nil {
			return // the setting alone is invalid, so that it offers nothing
		}
		choice.Codes = slices.DeleteFunc(then.Offered, func(code string) bool { return slices.Contains(now.Offered, code) })
		if len(choice.Codes) > 0 {
			found = append(found, choice)
		}
	}
	asked := c.EVM
	asked.AddressQueries = true
	add(Choice{Setting: addressQueries, Value: "on", Price: "public endpoints learn " + addressPrice}, asked)
	for _, p := range ethereum.Networks {
		network := string(p.ID)
		if how, _ := c.EVM.RPC(network); how != config.RPCOff || p.Trial || c.EVM.Trial() {
			continue
		}
		add(Choice{
			Setting: config.RPCSetting(network), Value: config.RPCPublic,
			Price: "its public endpoints learn " + networkPrice(bool(c.EVM.AddressQueries)),
		}, c.EVM.WithRPC(network, config.RPCPublic))
	}
	return found, nil
}

// SaveSetting writes a setting into the settings file. It creates the file in the data directory if
// there is none, and keeps all other lines. If it fails, the error describes how to set it by hand.
func SaveSetting(c config.Config, name, value string) error {
	path, source := c.File(), c.Source(name)
	if source == "environment" {
		return fmt.Errorf("the environment sets %s: set %s=%s there and start chequer serve again", name, name, value)
	}
	if file, isFile := strings.CutPrefix(source, "file "); isFile {
		return fmt.Errorf("%s holds %s: write %s into it and start chequer serve again", file, name, value)
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err == nil {
		err = durable.Update(path, []byte(config.SetLine(string(text), name, value)))
	}
	if err != nil {
		return fmt.Errorf("%s cannot be written (%w): add the line %s=%s to it and start chequer serve again", path, err, name, value)
	}
	return nil
}
