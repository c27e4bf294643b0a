package monero

import (
	"encoding/binary"
	"encoding/hex"
	"errors"

	"filippo.io/edwards25519"
	"golang.org/x/crypto/sha3"
)

// PublicKey is the encoding of a point of the curve Ed25519. Keys that come from the network may be any 32 bytes.
type PublicKey [32]byte

// errPublicKey means that a text is not a public key.
var errPublicKey = errors.New("a public key of Monero has 64 hex digits and encodes a point of the curve")

// ParsePublicKey parses the 64 hex digits of a valid public key.
func ParsePublicKey(text string) (PublicKey, error) {
	var k PublicKey
	if err := decodeHex(k[:], text); err != nil {
		return PublicKey{}, errPublicKey
	}
	if _, ok := k.point(); !ok {
		return PublicKey{}, errPublicKey
	}
	return k, nil
}

// String returns 64 hex digits.
func (k PublicKey) String() string { return hex.EncodeToString(k[:]) }

// point returns the point of a key, and reports whether the bytes are the canonical encoding of a point. Package edwards25519 accepts
// more than Monero, which refuses coordinates that are not reduced and a sign of zero: these are exactly the encodings that change
// when the point is encoded again. See ge_frombytes_vartime in src/crypto/crypto-ops.c of Monero.
func (k PublicKey) point() (*edwards25519.Point, bool) {
	p, err := new(edwards25519.Point).SetBytes(k[:])
	if err != nil || PublicKey(p.Bytes()) != k {
		return nil, false
	}
	return p, true
}

// decodeHex decodes hex digits that fill dst.
func decodeHex(dst []byte, text string) error {
	if hex.DecodedLen(len(text)) != len(dst) || len(text)%2 != 0 {
		return hex.ErrLength
	}
	_, err := hex.Decode(dst, []byte(text))
	return err
}

// keccak256 returns the original Keccak-256 of the concatenation of parts.
func keccak256(parts ...[]byte) [32]byte {
	hash := sha3.NewLegacyKeccak256()
	for _, part := range parts {
		hash.Write(part)
	}
	return [32]byte(hash.Sum(nil))
}

// hashToScalar returns the Keccak-256 of the concatenation of parts, as a little-endian number modulo the order of the group. See
// Zero to Monero 2.0, section 2.3.2 (hash function Hn), and hash_to_scalar in src/crypto/crypto.cpp of Monero.
func hashToScalar(parts ...[]byte) *edwards25519.Scalar {
	return reduce(keccak256(parts...))
}

// reduce returns a little-endian number modulo the order of the group. See sc_reduce32 in src/crypto/crypto-ops.c of Monero.
func reduce(number [32]byte) *edwards25519.Scalar {
	var wide [64]byte // SetUniformBytes reduces 64 bytes
	copy(wide[:], number[:])
	s, err := new(edwards25519.Scalar).SetUniformBytes(wide[:])
	if err != nil {
		panic(err) // the length is right
	}
	return s
}

// derivation is the secret that the sender of an output shares with its recipient.
type derivation [32]byte

// derive returns 8·a·R for the key R of a transaction and a private view key, and reports whether R is a valid key. See Zero to
// Monero 2.0, section 4.2, and generate_key_derivation in src/crypto/crypto.cpp of Monero.
func derive(key PublicKey, view *edwards25519.Scalar) (derivation, bool) {
	p, ok := key.point()
	if !ok {
		return derivation{}, false
	}
	p.ScalarMult(view, p).MultByCofactor(p)
	return derivation(p.Bytes()), true
}

// scalar returns Hs(8aR || i) for an output with the index i. See derivation_to_scalar in src/crypto/crypto.cpp of Monero.
func (d derivation) scalar(output int) *edwards25519.Scalar {
	return hashToScalar(d[:], binary.AppendUvarint(nil, uint64(output)))
}

// viewTag returns the view tag of an output. See derive_view_tag in src/crypto/crypto.cpp of Monero.
func (d derivation) viewTag(output int) byte {
	return keccak256([]byte("view_tag"), d[:], binary.AppendUvarint(nil, uint64(output)))[0]
}
