package daemon_test

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"testing"

	"filippo.io/edwards25519"
	"golang.org/x/crypto/sha3"

	"chequer/internal/monero"
)

// newWallet returns a new wallet.
func newWallet(t testing.TB) *monero.Wallet {
	t.Helper()
	view := randomScalar()
	key, err := monero.ParseViewKey(hex.EncodeToString(view.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	w, err := monero.NewWallet(monero.Address{
		Network: monero.Mainnet, Kind: monero.Primary,
		SpendKey: monero.PublicKey(new(edwards25519.Point).ScalarBaseMult(randomScalar()).Bytes()),
		ViewKey:  monero.PublicKey(new(edwards25519.Point).ScalarBaseMult(view).Bytes()),
	}, key)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// keccak returns the Keccak-256 of some texts.
func keccak(parts ...[]byte) []byte {
	h := sha3.NewLegacyKeccak256()
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}

// scalarOf reduces 32 bytes to a scalar.
func scalarOf(hash []byte) *edwards25519.Scalar {
	s, err := new(edwards25519.Scalar).SetUniformBytes(append(slices.Clone(hash), make([]byte, 32)...))
	if err != nil {
		panic(err)
	}
	return s
}

func randomScalar() *edwards25519.Scalar { return scalarOf(randomBytes()) }

func randomBytes() []byte {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails
	return b
}

// point returns the point of a public key.
func point(k monero.PublicKey) *edwards25519.Point {
	p, err := new(edwards25519.Point).SetBytes(k[:])
	if err != nil {
		panic(err)
	}
	return p
}

// extra returns the extra field: some keys, and then one key, or a random key and one for each output.
func extra(before, keys [][]byte) (numbers []int) {
	var field []byte
	for _, k := range before {
		field = append(append(field, 1), k...)
	}
	if len(keys) == 1 {
		field = append(append(field, 1), keys[0]...)
	} else {
		field = append(append(field, 1), new(edwards25519.Point).ScalarBaseMult(randomScalar()).Bytes()...)
		field = append(field, 4, byte(len(keys)))
		for _, k := range keys {
			field = append(field, k...)
		}
	}
	for _, b := range field {
		numbers = append(numbers, int(b))
	}
	return numbers
}

// commit returns mask·G + amount·H. H is in src/ringct/rctTypes.h of Monero.
func commit(amount uint64, mask *edwards25519.Scalar) string {
	text, err := hex.DecodeString("8b655970153799af2aeadc9ff1add0ea6c7251d54154cfa92c173a0dd39c1f94")
	if err != nil {
		panic(err)
	}
	var number [32]byte
	binary.LittleEndian.PutUint64(number[:], amount)
	s, err := new(edwards25519.Scalar).SetCanonicalBytes(number[:])
	if err != nil {
		panic(err)
	}
	return hex.EncodeToString(new(edwards25519.Point).VarTimeDoubleScalarBaseMult(s, point(monero.PublicKey(text)), mask).Bytes())
}
