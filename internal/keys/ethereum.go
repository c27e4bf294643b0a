package keys

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/btcsuite/btcd/btcec/v2"
	"golang.org/x/crypto/sha3"
)

// EthereumAddress is the address of an account or a contract on any EVM network.
type EthereumAddress [20]byte

// ParseEthereumAddress parses 0x and 40 hex digits. Digits that are all lower or all upper case have no
// checksum and are accepted. Mixed case must match ERC-55; otherwise a character is mistyped. The error
// is ErrAddress.
func ParseEthereumAddress(text string) (EthereumAddress, error) {
	digits, ok := strings.CutPrefix(text, "0x")
	if !ok || len(digits) != 2*len(EthereumAddress{}) {
		return EthereumAddress{}, fmt.Errorf("%w: an Ethereum address is 0x and 40 hex digits", ErrAddress)
	}
	raw, err := hex.DecodeString(digits)
	if err != nil {
		return EthereumAddress{}, fmt.Errorf("%w: an Ethereum address is 0x and 40 hex digits", ErrAddress)
	}
	a := EthereumAddress(raw)
	mixed := digits != strings.ToLower(digits) && digits != strings.ToUpper(digits)
	if mixed && a.String() != text {
		return EthereumAddress{}, fmt.Errorf("%w: its capital letters do not match, so a character is mistyped", ErrAddress)
	}
	return a, nil
}

// String returns 0x and 40 hex digits, with the checksum of ERC-55 in the case of the letters.
func (a EthereumAddress) String() string {
	text := []byte(hex.EncodeToString(a[:]))
	hash := keccak256(text)
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

func (a EthereumAddress) lowerHex() string { return "0x" + hex.EncodeToString(a[:]) }

// Path returns the derivation path of the address with an index of an Ethereum key. A chain key does
// not contain the steps above it, so its path begins with an ellipsis. See BIP 44, "Path levels".
func (k Key) Path(index uint32) string {
	child := k.parsed.ChildIndex()
	if k.parsed.Depth() == accountDepth {
		return fmt.Sprintf("m/44'/60'/%d'/0/%d", child&^hardened, index)
	}
	return fmt.Sprintf("…/%d/%d", child, index)
}

// addressOf returns the account of a public key: the last 20 bytes of the Keccak-256 of its
// coordinates. See the Ethereum yellow paper, appendix F.
func addressOf(public *btcec.PublicKey) EthereumAddress {
	hash := keccak256(public.SerializeUncompressed()[1:])
	return EthereumAddress(hash[12:])
}

// keccak256 returns the original Keccak-256, whose padding differs from that of SHA-3.
func keccak256(data []byte) []byte {
	hash := sha3.NewLegacyKeccak256()
	hash.Write(data)
	return hash.Sum(nil)
}
