package bolt11_test

import (
	"crypto/sha256"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2/ecdsa"
	"github.com/btcsuite/btcd/btcutil/bech32"

	"chequer/internal/chain/lightning/bolt11"
)

// field is a tagged field.
type field struct {
	kind byte
	data []byte
}

// resign returns a request with another amount.
func resign(t *testing.T, r bolt11.Request, amount string) string {
	t.Helper()
	r.Description = "shoes"
	return signFields(t, "lnbc"+amount, r)
}

// signFields returns a signed request with any human-readable part, and with fields before those of r.
func signFields(t *testing.T, prefix string, r bolt11.Request, fields ...field) string {
	t.Helper()
	text, err := r.Sign(nodeKey())
	if err != nil {
		t.Fatal(err)
	}
	_, groups, err := bech32.DecodeNoLimit(text)
	if err != nil {
		t.Fatal(err)
	}
	data := append([]byte{}, groups[:7]...)
	for _, f := range fields {
		converted := convert(t, f.data, 8, 5)
		data = append(data, f.kind, byte(len(converted)>>5), byte(len(converted)&31))
		data = append(data, converted...)
	}
	data = append(data, groups[7:len(groups)-104]...)
	hash := sha256.Sum256(append([]byte(prefix), convert(t, data, 5, 8)...))
	compact := ecdsa.SignCompact(nodeKey(), hash[:], true)
	data = append(data, convert(t, append(append([]byte{}, compact[1:]...), compact[0]-31), 8, 5)...)
	signed, err := bech32.Encode(prefix, data)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

func convert(t *testing.T, data []byte, from, to uint8) []byte {
	t.Helper()
	converted, err := bech32.ConvertBits(data, from, to, true)
	if err != nil {
		t.Fatal(err)
	}
	return converted
}
