package keys

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcutil/base58"
	"github.com/btcsuite/btcd/btcutil/hdkeychain"
	"github.com/btcsuite/btcd/chaincfg/chainhash"
)

const (
	payloadSize  = 78
	checksumSize = 4
	// maxText is longer than any extended key. The cost of base 58 grows with the square of the
	// length, so longer, possibly hostile texts are not decoded.
	maxText = 128
	// hardened is the first index that only a private key can derive.
	hardened = hdkeychain.HardenedKeyStart
)

// extended is a valid extended public key in its original spelling.
type extended struct {
	version
	depth     byte
	parent    []byte // fingerprint
	child     uint32
	chainCode []byte
	public    []byte
}

// parseExtended checks all rules of BIP 32, "Serialization format", for a public key, including
// those of "Test vector 5". hdkeychain.NewKeyFromString checks neither the version nor the rules
// for depth 0.
func parseExtended(text string) (extended, error) {
	if len(text) > maxText {
		return extended{}, malformed("it is too long")
	}
	raw := base58.Decode(text)
	if len(raw) != payloadSize+checksumSize {
		return extended{}, malformed("it is not 82 bytes in base 58")
	}
	payload, checksum := raw[:payloadSize], raw[payloadSize:]
	if !bytes.Equal(chainhash.DoubleHashB(payload)[:checksumSize], checksum) {
		return extended{}, malformed("its checksum is wrong, so a character is missing or mistyped")
	}
	v, ok := versions[binary.BigEndian.Uint32(payload)]
	if !ok {
		return extended{}, malformed("its first letters are unknown")
	}
	if v.refusal != nil {
		return extended{}, v.refusal
	}
	x := extended{
		version:   v,
		depth:     payload[4],
		parent:    payload[5:9],
		child:     binary.BigEndian.Uint32(payload[9:13]),
		chainCode: payload[13:45],
		public:    payload[45:],
	}
	return x, x.check()
}

func (x extended) check() error {
	if x.depth == 0 && binary.BigEndian.Uint32(x.parent) != 0 {
		return malformed("it has depth 0, but a parent")
	}
	if x.depth == 0 && x.child != 0 {
		return malformed("it has depth 0, but a child number")
	}
	if x.public[0] != 0x02 && x.public[0] != 0x03 {
		return malformed("it does not have a compressed public key")
	}
	if _, err := btcec.ParsePubKey(x.public); err != nil {
		return malformed("its public key is not a point of the curve")
	}
	return nil
}

// scriptFor returns the script of a key's addresses: the script that its letters determine or the
// script that the caller asked for. It returns an error if the two differ or both are missing.
func (x extended) scriptFor(kind Kind, wanted Script) (Script, error) {
	if kind == ETH {
		if wanted != "" {
			return "", fmt.Errorf("%w: an Ethereum key has no script type", ErrScript)
		}
		return "", nil
	}
	if x.script != "" && wanted != "" && wanted != x.script {
		return "", fmt.Errorf("%w: the script type of a %s… key is %s, which differs from --script", ErrScript, x.name, x.script)
	}
	script := wanted
	if script == "" {
		script = x.script
	}
	switch script {
	case P2PKH, P2SHP2WPKH, P2WPKH, P2TR:
		return script, nil
	case "":
		return "", fmt.Errorf("%w: %s… does not determine which addresses the wallet shows, so add --script %s, %s, %s or %s",
			ErrScript, x.name, P2PKH, P2SHP2WPKH, P2WPKH, P2TR)
	}
	return "", fmt.Errorf("%w: --script must be %s, %s, %s or %s", ErrScript, P2PKH, P2SHP2WPKH, P2WPKH, P2TR)
}

// key returns x as an hdkeychain key, with the neutral version bytes.
func (x extended) key() *hdkeychain.ExtendedKey {
	return hdkeychain.NewExtendedKey(neutralVersion(x.network), x.public, x.chainCode, x.parent, x.depth, x.child, false)
}

func malformed(reason string) error { return fmt.Errorf("%w: %s", ErrMalformed, reason) }
