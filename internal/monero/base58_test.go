package monero

import (
	"bytes"
	"encoding/hex"
	"testing"
)

// Texts and bytes of tests/unit_tests/base58.cpp of Monero.
var base58Vectors = map[string]string{
	"": "", "11": "00", "1z": "39", "5Q": "ff", "111": "0000", "11z": "0039", "15R": "0100", "LUv": "ffff",
	"11111": "000000", "1111z": "000039", "11LUw": "010000", "2UzHL": "ffffff", "11111z": "00000039", "7YXq9G": "ffffffff",
	"111111z": "0000000039", "VtB5VXc": "ffffffffff", "11111111z": "000000000039", "3CUsUpv9t": "ffffffffffff",
	"111111111z": "00000000000039", "Ahg1opVcGW": "ffffffffffffff", "1111111111z": "0000000000000039", "jpXCZedGfVQ": "ffffffffffffffff",
	"11111111111": "0000000000000000", "11111111112": "0000000000000001", "1111111111A": "0000000000000009", "11111111121": "000000000000003a",
	"1Ahg1opVcGW": "00ffffffffffffff", "22222222222": "06156013762879f7", "1z111111111": "05e022ba374b2a00",
	"22222222222VtB5VXc": "06156013762879f7ffffffffff", "jpXCZedGfVQ5Q": "ffffffffffffffffff", "jpXCZedGfVQjpXCZedGfVQ": "ffffffffffffffffffffffffffffffff",
}

// Refused texts of tests/unit_tests/base58.cpp of Monero.
var base58Refused = []string{
	"1", "z", "1111", "zzzz", "11111111", "zzzzzzzz", "123456789AB1", "123456789ABzzzz", "123456789AB11111111", // impossible lengths
	"5R", "zz", "LUw", "zzz", "2UzHM", "zzzzz", "7YXq9H", "zzzzzz", "VtB5VXd", "zzzzzzz", "3CUsUpv9u", "zzzzzzzzz", // too large
	"Ahg1opVcGX", "zzzzzzzzzz", "jpXCZedGfVR", "zzzzzzzzzzz", "123456789AB5R", "123456789ABjpXCZedGfVR", "zzzzzzzzzzz11",
	"10", "11I", "11O11", "11l111", "11_11111111", "1101111111111", "11I11111111111111", "111111111111l1111", "1\x001", "1é", // other characters
}

func TestBase58(t *testing.T) {
	t.Parallel()
	for text, digits := range base58Vectors {
		data, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(err)
		}
		if got := encodeBase58(data); got != text {
			t.Errorf("encodeBase58(%s) = %s, want %s", digits, got, text)
		}
		if got, err := decodeBase58(text); err != nil || !bytes.Equal(got, data) {
			t.Errorf("decodeBase58(%s) = %x, %v, want %s", text, got, err, digits)
		}
	}
	for _, text := range base58Refused {
		if got, err := decodeBase58(text); err == nil {
			t.Errorf("decodeBase58(%q) = %x, want an error", text, got)
		}
	}
}

// FuzzDecodeBase58 checks that bytes have one text.
func FuzzDecodeBase58(f *testing.F) {
	for text := range base58Vectors {
		f.Add(text)
	}
	for _, text := range base58Refused {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if data, err := decodeBase58(text); err == nil && encodeBase58(data) != text {
			t.Errorf("%q is decoded to %x, which is encoded as %q", text, data, encodeBase58(data))
		}
	})
}
