package evm_test

import (
	"encoding/hex"
	"math/big"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2"

	"chequer/internal/evm"
)

// key is the private key of the example of EIP-712, the Keccak-256 of "cow".
func key() *btcec.PrivateKey {
	hash := evm.Keccak256([]byte("cow"))
	private, _ := btcec.PrivKeyFromBytes(hash[:])
	return private
}

// The signature and the address of the example of EIP-712, "Test Cases".
func TestSign_the_example_of_EIP712(t *testing.T) {
	t.Parallel()
	raw, err := hex.DecodeString("be609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2")
	if err != nil {
		t.Fatal(err)
	}
	digest := evm.Hash(raw)
	s, err := evm.Sign(key(), digest)
	if err != nil {
		t.Fatal(err)
	}
	const want = "0x4355c47d63924e8a72e509b65029052eb6c299d53a04e167c5775fd466751c9d07299936d304c153f6443dfa05f40ff007d72911b6f72307f996231605b915621c"
	if s.String() != want {
		t.Errorf("signature = %s, want %s", s, want)
	}
	signer, err := s.Signer(digest)
	if got := signer.String(); err != nil || got != "0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826" {
		t.Errorf("signer = %s, %v", got, err)
	}
	parsed, err := evm.ParseSignature(strings.TrimSuffix(want, "1c") + "01") // as some hardware wallets return v
	if err != nil || parsed != s {
		t.Errorf("parsed signature = %s, %v", parsed, err)
	}
}

func TestParseSignature_refuses(t *testing.T) {
	t.Parallel()
	r, s := strings.Repeat("01", 32), strings.Repeat("02", 32)
	const order = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141"
	for name, text := range map[string]string{
		"no prefix":          r + s + "1b",
		"too few digits":     "0x" + r + s,
		"too many digits":    "0x" + r + s + "1b1b",
		"no hex":             "0x" + r + s + "zz",
		"r of zero":          "0x" + strings.Repeat("00", 32) + s + "1b",
		"s of zero":          "0x" + r + strings.Repeat("00", 32) + "1b",
		"r not below n":      "0x" + order + s + "1b",
		"a high s":           "0x" + r + "7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a1" + "1b",
		"v of a transaction": "0x" + r + s + "25",
	} {
		if _, err := evm.ParseSignature(text); err == nil {
			t.Errorf("a signature with %s is accepted", name)
		}
	}
	if _, err := evm.ParseSignature("0x" + r + "7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0" + "1b"); err != nil {
		t.Errorf("the highest s is refused: %v", err)
	}
}

// The checksums of EIP-55, "Test Cases".
func TestParseAddress_checks_the_checksum(t *testing.T) {
	t.Parallel()
	const text = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	for _, accepted := range []string{text, strings.ToLower(text), "0x" + strings.ToUpper(text[2:])} {
		if a, err := evm.ParseAddress(accepted); err != nil || a.String() != text {
			t.Errorf("ParseAddress(%s) = %s, %v", accepted, a, err)
		}
		if _, err := evm.ParseChecksummed(accepted); (err == nil) != (accepted == text) {
			t.Errorf("ParseChecksummed(%s): %v", accepted, err)
		}
	}
	for _, refused := range []string{text[2:], text + "0", text[:41] + "D", "", "0X" + text[2:], text[:41] + "g"} {
		if a, err := evm.ParseAddress(refused); err == nil {
			t.Errorf("ParseAddress(%s) = %s, want an error", refused, a)
		}
	}
}

func TestSelector_is_that_of_the_contracts(t *testing.T) {
	t.Parallel()
	for function, want := range map[string]string{
		"transfer(address,uint256)": "a9059cbb",
		"transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)": "e3ee160e",
		"aggregate3((address,bool,bytes)[])": "82ad56cb",
	} {
		if got := hex.EncodeToString(evm.Selector(function)); got != want {
			t.Errorf("selector of %s = %s, want %s", function, got, want)
		}
	}
}

// example returns a signed transaction.
func example(t testing.TB) (evm.Transaction, string) {
	t.Helper()
	tx := evm.Transaction{ChainID: 1, Nonce: 200, Tip: big.NewInt(1), FeeCap: big.NewInt(1_000_000_000), Gas: 21_000, To: evm.Multicall3, Value: big.NewInt(5), Data: []byte{1, 2, 3}}
	s, err := evm.Sign(key(), tx.SigningHash())
	if err != nil {
		t.Fatal(err)
	}
	return tx, "0x" + hex.EncodeToString(tx.Raw(s))
}

func TestParseTransaction_refuses_what_is_not_canonical(t *testing.T) {
	t.Parallel()
	_, text := example(t)
	for name, other := range map[string]string{
		"another type":           "0x01" + text[4:],
		"no prefix":              text[2:],
		"capital letters":        "0x" + strings.ToUpper(text[2:]),
		"a byte more":            text + "00",
		"a byte less":            text[:len(text)-2],
		"nothing":                "0x",
		"only a type":            "0x02",
		"a leading zero":         replace(t, text, "81c8", "8200c8", 1),
		"a long byte":            replace(t, text, "0181c801", "810181c801", 1),
		"a number of a list":     replace(t, text, "81c8", "c1c8", 0),
		"an access list":         replace(t, text, "83010203c0", "83010203c101", 1),
		"a string as a list":     replace(t, text, "83010203c0", "8301020380", 0),
		"an address of 19 bytes": replace(t, text, "94ca11bde05977b3631167028862be2a173976ca11", "93ca11bde05977b3631167028862be2a173976ca", -1),
	} {
		if got, _, err := evm.ParseTransaction(other); err == nil {
			t.Errorf("a transaction with %s is accepted: %+v", name, got)
		}
	}
}

// replace replaces a text of a transaction, whose list has a length of one byte that grows by a number of bytes.
func replace(t testing.TB, text, old, replacement string, growth int) string {
	t.Helper()
	if strings.Count(text, old) != 1 || !strings.HasPrefix(text, "0x02f8") {
		t.Fatalf("%s does not contain %s once, or has another length", text, old)
	}
	length, err := hex.DecodeString(text[6:8])
	if err != nil {
		t.Fatal(err)
	}
	length[0] += byte(growth)
	return text[:6] + hex.EncodeToString(length) + strings.Replace(text[8:], old, replacement, 1)
}

// FuzzParseTransaction checks that a transaction that is accepted has one encoding.
func FuzzParseTransaction(f *testing.F) {
	_, text := example(f)
	raw, err := hex.DecodeString(text[2:])
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		text := "0x" + hex.EncodeToString(raw)
		tx, s, err := evm.ParseTransaction(text)
		if err != nil {
			return
		}
		if got := "0x" + hex.EncodeToString(tx.Raw(s)); got != text {
			t.Errorf("encoded again = %s, was %s", got, text)
		}
		if signer, err := s.Signer(tx.SigningHash()); err != nil && signer != (evm.Address{}) {
			t.Errorf("signer = %s, %v", signer, err)
		}
	})
}

func TestParseAggregate3_refuses_malformed_results(t *testing.T) {
	t.Parallel()
	words := func(numbers ...uint64) (encoded []byte) {
		for _, n := range numbers {
			w := evm.NumberWord(n)
			encoded = append(encoded, w[:]...)
		}
		return encoded
	}
	good := words(32, 2, 64, 160, 1, 64, 0, 0, 64, 0)
	got, err := evm.ParseAggregate3(good, 2)
	if err != nil || len(got) != 2 || !got[0] || got[1] {
		t.Errorf("got %v, error %v, want true and false", got, err)
	}
	for name, tt := range map[string]struct {
		result []byte
		count  int
	}{
		"empty": {nil, 0}, "other_count": {good, 3}, "cut_off": {good[:len(good)-96], 2}, "offset_outside": {words(32, 1, 1<<40), 1}, "no_flag": {words(32, 1, 32, 2), 1},
	} {
		if got, err := evm.ParseAggregate3(tt.result, tt.count); err == nil {
			t.Errorf("%s: got %v, want an error", name, got)
		}
	}
}
