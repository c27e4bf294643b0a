package keys

import (
	"encoding/hex"
	"fmt"

	"chequer/internal/evm"
)

// EthereumAddress is the address of an account or a contract on any EVM network.
type EthereumAddress = evm.Address

// ParseEthereumAddress parses 0x and 40 hex digits. Digits that are all lower or all upper case have no
// checksum and are accepted. Mixed case must match EIP-55; otherwise a character is mistyped. The error
// is ErrAddress.
func ParseEthereumAddress(text string) (EthereumAddress, error) {
	a, err := evm.ParseAddress(text)
	if err != nil {
		return EthereumAddress{}, fmt.Errorf("%w: %w", ErrAddress, err)
	}
	return a, nil
}

// lowerHex returns 0x and the hex digits of an address in lower case.
func lowerHex(a EthereumAddress) string { return "0x" + hex.EncodeToString(a[:]) }

// Path returns the derivation path of the address with an index of an Ethereum key. A chain key does
// not contain the steps above it, so its path begins with an ellipsis. See BIP 44, "Path levels".
func (k Key) Path(index uint32) string {
	child := k.parsed.ChildIndex()
	if k.parsed.Depth() == accountDepth {
		return fmt.Sprintf("m/44'/60'/%d'/0/%d", child&^hardened, index)
	}
	return fmt.Sprintf("…/%d/%d", child, index)
}
