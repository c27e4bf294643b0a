// Package evm has the encodings of EVM networks: addresses, Keccak-256, typed data (EIP-712), calls of contracts
// (the contract ABI), RLP, transactions of type 2 (EIP-1559) and signatures. It imports nothing that reaches a network.
package evm

import (
	"encoding/hex"
	"errors"
	"strings"

	"github.com/btcsuite/btcd/btcec/v2"
	"golang.org/x/crypto/sha3"
)

// Address is the address of an account or a contract on any EVM network.
type Address [20]byte

var (
	errAddressForm     = errors.New("an Ethereum address is 0x and 40 hex digits")
	errAddressChecksum = errors.New("its capital letters do not match, so a character is mistyped")
	errAddressCase     = errors.New("it has no checksum: its letters must be written in the case of EIP-55")
)

// ParseAddress parses 0x and 40 hex digits. Digits that are all lower or all upper case have no
// checksum and are accepted. Mixed case must match EIP-55; otherwise a character is mistyped.
func ParseAddress(text string) (Address, error) {
	digits, ok := strings.CutPrefix(text, "0x")
	if !ok || len(digits) != 2*len(Address{}) {
		return Address{}, errAddressForm
	}
	raw, err := hex.DecodeString(digits)
	if err != nil {
		return Address{}, errAddressForm
	}
	a := Address(raw)
	mixed := digits != strings.ToLower(digits) && digits != strings.ToUpper(digits)
	if mixed && a.String() != text {
		return Address{}, errAddressChecksum
	}
	return a, nil
}

// ParseChecksummed parses an address that must be written with the checksum of EIP-55.
func ParseChecksummed(text string) (Address, error) {
	a, err := ParseAddress(text)
	if err == nil && a.String() != text {
		return Address{}, errAddressCase
	}
	return a, err
}

// String returns 0x and 40 hex digits, with the checksum of EIP-55 in the case of the letters.
func (a Address) String() string {
	text := []byte(hex.EncodeToString(a[:]))
	hash := Keccak256(text)
	for i, c := range text {
		nibble := hash[i/2] >> 4
		if i%2 == 1 {
			nibble = hash[i/2] & 0x0f
		}
		if c >= 'a' && nibble >= 8 {
			text[i] = c - 'a' + 'A'
		}
	}
	return "0x" + string(text)
}

// AddressOf returns the account of a public key: the last 20 bytes of the Keccak-256 of its
// coordinates. See the Ethereum yellow paper, appendix F.
func AddressOf(public *btcec.PublicKey) Address {
	hash := Keccak256(public.SerializeUncompressed()[1:])
	return Address(hash[12:])
}

// Hash is a hash of 32 bytes.
type Hash [32]byte

// String returns 0x and 64 hex digits.
func (h Hash) String() string { return "0x" + hex.EncodeToString(h[:]) }

// Keccak256 returns the original Keccak-256 of the concatenation of parts. Its padding differs from that of SHA-3.
func Keccak256(parts ...[]byte) Hash {
	hash := sha3.NewLegacyKeccak256()
	for _, part := range parts {
		hash.Write(part)
	}
	return Hash(hash.Sum(nil))
}
