// Package monero has the formats and the cryptography of Monero for a wallet that only has the private view key: addresses,
// subaddresses, and the search for payments in transactions and blocks. It imports nothing that reaches a network.
package monero

import (
	"bytes"
	"fmt"
	"strings"
)

// Network is a network of Monero. Nodes of regtest use the addresses of Mainnet.
type Network int

// The networks.
const (
	Mainnet Network = iota + 1
	Testnet
	Stagenet
)

// String returns the name of a network, as in the field "nettype" of the call get_info of monerod.
func (n Network) String() string {
	switch n {
	case Mainnet:
		return "mainnet"
	case Testnet:
		return "testnet"
	case Stagenet:
		return "stagenet"
	default:
		return fmt.Sprintf("network %d", int(n))
	}
}

// Kind is the kind of an address.
type Kind int

// The kinds of addresses. An integrated address is a primary address with a payment ID.
const (
	Primary Kind = iota + 1
	Subaddress
	Integrated
)

// PaymentID is the payment ID of an integrated address.
type PaymentID [8]byte

// Address is an address with its two public keys. Addresses can be compared with ==.
type Address struct {
	Network   Network
	Kind      Kind
	SpendKey  PublicKey // B of a primary address, D of a subaddress
	ViewKey   PublicKey // A of a primary address, C of a subaddress
	PaymentID PaymentID // only of integrated addresses
}

// prefix is the kind and the network of addresses.
type prefix struct {
	network Network
	kind    Kind
}

// prefixes are the first bytes of addresses. See src/cryptonote_config.h of Monero.
var prefixes = map[byte]prefix{
	18: {Mainnet, Primary}, 19: {Mainnet, Integrated}, 42: {Mainnet, Subaddress},
	53: {Testnet, Primary}, 54: {Testnet, Integrated}, 63: {Testnet, Subaddress},
	24: {Stagenet, Primary}, 25: {Stagenet, Integrated}, 36: {Stagenet, Subaddress},
}

// Sizes in an address, in bytes and in characters.
const (
	checksumSize         = 4
	addressSize          = 1 + 2*len(PublicKey{}) + checksumSize
	integratedSize       = addressSize + len(PaymentID{})
	maxAddressCharacters = 106
)

// ParseAddress parses an address of any network and kind, which has exactly one text. It returns ErrAddress, ErrChecksum or ErrAddressKey.
func ParseAddress(text string) (Address, error) {
	if len(text) > maxAddressCharacters {
		return Address{}, ErrAddress
	}
	data, err := decodeBase58(text)
	if err != nil || len(data) <= checksumSize {
		return Address{}, ErrAddress
	}
	data, sum := data[:len(data)-checksumSize], data[len(data)-checksumSize:]
	hash := keccak256(data)
	if !bytes.Equal(hash[:checksumSize], sum) {
		return Address{}, ErrChecksum
	}
	known, ok := prefixes[data[0]]
	size := addressSize
	if known.kind == Integrated {
		size = integratedSize
	}
	if !ok || len(data)+checksumSize != size {
		return Address{}, ErrAddress
	}
	a := Address{Network: known.network, Kind: known.kind, SpendKey: PublicKey(data[1:33]), ViewKey: PublicKey(data[33:65])}
	copy(a.PaymentID[:], data[65:])
	for _, key := range []PublicKey{a.SpendKey, a.ViewKey} {
		if _, ok := key.point(); !ok {
			return Address{}, ErrAddressKey
		}
	}
	return a, nil
}

// ParsePrimary parses the primary address of a wallet on a network, as pasted by a user. White space around it is ignored. Besides the
// errors of ParseAddress it returns ErrNetwork, ErrSubaddress or ErrIntegrated.
func ParsePrimary(text string, network Network) (Address, error) {
	a, err := ParseAddress(strings.TrimSpace(text))
	if err != nil {
		return Address{}, err
	}
	if a.Network != network {
		return Address{}, fmt.Errorf("%w: it is an address of %s, not of %s", ErrNetwork, a.Network, network)
	}
	if err := a.checkPrimary(); err != nil {
		return Address{}, err
	}
	return a, nil
}

// checkPrimary returns ErrSubaddress or ErrIntegrated unless an address is primary.
func (a Address) checkPrimary() error {
	switch a.Kind {
	case Primary:
		return nil
	case Integrated:
		return ErrIntegrated
	default:
		return ErrSubaddress
	}
}

// String returns the text of an address: 95 characters, 106 of an integrated address. It returns "" for an address without a network
// or kind.
func (a Address) String() string {
	for first, known := range prefixes {
		if known.network != a.Network || known.kind != a.Kind {
			continue
		}
		data := append([]byte{first}, a.SpendKey[:]...)
		data = append(data, a.ViewKey[:]...)
		if a.Kind == Integrated {
			data = append(data, a.PaymentID[:]...)
		}
		hash := keccak256(data)
		return encodeBase58(append(data, hash[:checksumSize]...))
	}
	return ""
}
