package plan

import (
	"errors"
	"fmt"
	"slices"

	"chequer/internal/evm"
)

// Ranges of addresses that are no accounts.
var (
	precompiles = evm.Address{18: 0xff, 19: 0xff} // the last of those of Ethereum, Arbitrum and Polygon
	// predeploys are the first 18 bytes of the system contracts of Base and OP Mainnet. See specs.optimism.io,
	// "Predeploys".
	predeploys = []byte{0: 0x42, 17: 0}
)

// CheckDestination returns an error if an address cannot hold money: zero, a contract of a network's protocol, or
// Multicall3.
func CheckDestination(a evm.Address) error {
	switch {
	case a == evm.Address{}:
		return errors.New("the address is zero")
	case slices.Compare(a[:], precompiles[:]) <= 0, slices.Equal(a[:18], predeploys):
		return fmt.Errorf("%s is a contract of the network (a precompile)", a)
	case a == evm.Multicall3:
		return fmt.Errorf("%s is the contract Multicall3", a)
	}
	return nil
}
