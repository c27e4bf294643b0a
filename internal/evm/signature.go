package evm

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/ecdsa"
)

// Signature is an ECDSA signature from which the signer's address can be recovered.
type Signature struct {
	R, S [32]byte
	V    byte // 27 or 28: 27 and the parity of the y coordinate of R
}

// firstV is the V of a signature whose parity is even. See the Ethereum yellow paper, appendix F.
const firstV = 27

var (
	errSignatureForm = errors.New("a signature is 0x and 130 hex digits")
	errSignature     = errors.New("the signature is not valid")
)

// Sign signs a hash with the deterministic nonce of RFC 6979 and a low s (EIP-2).
func Sign(key *btcec.PrivateKey, hash Hash) (Signature, error) {
	return fromCompact(ecdsa.SignCompact(key, hash[:], false))
}

// fromCompact returns the signature of a compact signature for an uncompressed key. It returns an error if the x
// coordinate of R is not below the order of the curve, for which Ethereum has no encoding; the probability is 2^-127.
func fromCompact(compact []byte) (Signature, error) {
	s := Signature{V: compact[0], R: [32]byte(compact[1:33]), S: [32]byte(compact[33:])}
	if s.V != firstV && s.V != firstV+1 {
		return Signature{}, errSignature
	}
	return s, nil
}

// ParseSignature parses 0x and the hex digits of r, s and v, as wallets return them. v may be 0 and 1 instead of
// 27 and 28. It refuses a high s, which tokens refuse.
func ParseSignature(text string) (Signature, error) {
	digits, ok := strings.CutPrefix(text, "0x")
	raw, err := hex.DecodeString(digits)
	if !ok || err != nil || len(raw) != 65 {
		return Signature{}, errSignatureForm
	}
	s := Signature{R: [32]byte(raw[:32]), S: [32]byte(raw[32:64]), V: raw[64]}
	if s.V < 2 {
		s.V += firstV
	}
	return s, s.check()
}

// check returns an error if r, s or v is out of its range, or if s is high (EIP-2).
func (s Signature) check() error {
	var r, low btcec.ModNScalar
	if r.SetBytes(&s.R) != 0 || low.SetBytes(&s.S) != 0 || r.IsZero() || low.IsZero() || low.IsOverHalfOrder() {
		return fmt.Errorf("%w: r or s is out of range", errSignature)
	}
	if s.V != firstV && s.V != firstV+1 {
		return fmt.Errorf("%w: v is %d, not 27 or 28", errSignature, s.V)
	}
	return nil
}

// String returns 0x and the hex digits of r, s and v.
func (s Signature) String() string {
	return "0x" + hex.EncodeToString(s.R[:]) + hex.EncodeToString(s.S[:]) + hex.EncodeToString([]byte{s.V})
}

// parity returns the parity of the y coordinate of R: 0 or 1.
func (s Signature) parity() uint64 { return uint64(s.V - firstV) }

// Signer returns the address that signed a hash.
func (s Signature) Signer(hash Hash) (Address, error) {
	if err := s.check(); err != nil {
		return Address{}, err
	}
	compact := append([]byte{s.V}, s.R[:]...)
	public, _, err := ecdsa.RecoverCompact(append(compact, s.S[:]...), hash[:])
	if err != nil {
		return Address{}, errSignature
	}
	return AddressOf(public), nil
}
