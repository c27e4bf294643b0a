package monero

import (
	"encoding/hex"
	"os"
	"strconv"
	"strings"
	"testing"

	"filippo.io/edwards25519"
)

// bytes32 decodes hex digits of 32 bytes.
func bytes32(t testing.TB, text string) (b [32]byte) {
	t.Helper()
	if err := decodeHex(b[:], text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return b
}

// scalar decodes a private key.
func scalar(t testing.TB, text string) *edwards25519.Scalar {
	t.Helper()
	b := bytes32(t, text)
	s, err := new(edwards25519.Scalar).SetCanonicalBytes(b[:])
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// vectorTests check the arguments of a line in testdata/crypto.txt, by its first word.
var vectorTests = map[string]func(t *testing.T, args []string) (got string, want []string){
	"check_scalar": func(t *testing.T, args []string) (string, []string) {
		_, err := NewViewKey(bytes32(t, args[0]))
		return strconv.FormatBool(err == nil), args[1:]
	},
	"hash_to_scalar": func(t *testing.T, args []string) (string, []string) {
		data, err := hex.DecodeString(strings.TrimPrefix(args[0], "x"))
		if err != nil {
			t.Fatal(err)
		}
		return hex.EncodeToString(hashToScalar(data).Bytes()), args[1:]
	},
	"check_key": func(t *testing.T, args []string) (string, []string) {
		_, ok := PublicKey(bytes32(t, args[0])).point()
		return strconv.FormatBool(ok), args[1:]
	},
	"secret_key_to_public_key": func(t *testing.T, args []string) (string, []string) {
		key, err := NewViewKey(bytes32(t, args[0]))
		if err != nil {
			return "false", args[1:]
		}
		return "true " + key.public().String(), args[1:]
	},
	"generate_key_derivation": func(t *testing.T, args []string) (string, []string) {
		d, ok := derive(bytes32(t, args[0]), scalar(t, args[1]))
		if !ok {
			return "false", args[2:]
		}
		return "true " + hex.EncodeToString(d[:]), args[2:]
	},
	// The line has an output P = Hs(8aR || i)·G + B; spendKey finds B from P.
	"derive_public_key": func(t *testing.T, args []string) (string, []string) {
		output, err := strconv.Atoi(args[1])
		if err != nil {
			t.Fatal(err)
		}
		if args[3] == "false" {
			_, ok := PublicKey(bytes32(t, args[2])).point()
			return strconv.FormatBool(ok), args[3:]
		}
		o := Output{Key: bytes32(t, args[4])}
		base, ok := o.spendKey(derivation(bytes32(t, args[0])).scalar(output))
		return strconv.FormatBool(ok) + " " + base.String(), []string{args[3], args[2]}
	},
	"derive_view_tag": func(t *testing.T, args []string) (string, []string) {
		output, err := strconv.Atoi(args[1])
		if err != nil {
			t.Fatal(err)
		}
		return hex.EncodeToString([]byte{derivation(bytes32(t, args[0])).viewTag(output)}), args[2:]
	},
}

func TestVectors_of_Monero(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/crypto.txt")
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if fields[0] == "#" {
			continue
		}
		check, ok := vectorTests[fields[0]]
		if !ok {
			t.Fatalf("no test of %s", fields[0])
		}
		count[fields[0]]++
		if got, want := check(t, fields[1:]); got != strings.Join(want, " ") {
			t.Errorf("%s: got %s, want %s", strings.TrimSpace(line), got, want)
		}
	}
	for name := range vectorTests {
		if count[name] < 40 {
			t.Errorf("%d vectors of %s, want at least 40", count[name], name)
		}
	}
}

// H is 8 times the point that the Keccak-256 of G encodes. See src/ringct/rctTypes.h of Monero.
func TestAmountGenerator_derives_from_the_base_point(t *testing.T) {
	t.Parallel()
	hash := keccak256(edwards25519.NewGeneratorPoint().Bytes())
	p, ok := PublicKey(hash).point()
	if !ok {
		t.Fatal("the hash of G is not a point")
	}
	if p.MultByCofactor(p).Equal(amountGenerator) != 1 {
		t.Errorf("H = %x, want %x", amountGenerator.Bytes(), p.Bytes())
	}
}

func TestParsePublicKey(t *testing.T) {
	t.Parallel()
	const text = "8b655970153799af2aeadc9ff1add0ea6c7251d54154cfa92c173a0dd39c1f94"
	if k, err := ParsePublicKey(text); err != nil || k.String() != text {
		t.Errorf("ParsePublicKey(%s) = %s, %v", text, k, err)
	}
	for name, refused := range map[string]string{
		"no_hex": "g" + text[1:], "short": text[2:], "odd": text[1:], "long": text + "00", "empty": "", "no_point": "02" + strings.Repeat("00", 31),
	} {
		if k, err := ParsePublicKey(refused); err == nil {
			t.Errorf("%s: got %s, want an error", name, k)
		}
	}
}
