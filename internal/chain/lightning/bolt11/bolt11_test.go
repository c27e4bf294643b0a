package bolt11_test

import (
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain/lightning/bolt11"
)

// list is the hash of the list of things in the examples.
var list = decode("3925b6f67e2c340036ed12093dd44e0368df1b6ea26c53dbe4811f58fd5db8c1")

func decode(text string) []byte {
	data, err := hex.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return data
}

func array32(text string) [32]byte { return [32]byte(decode(text)) }

// nodeKey returns the private key that signs the examples.
func nodeKey() *btcec.PrivateKey {
	key, _ := btcec.PrivKeyFromBytes(decode("e126f68f7eafcc8b74f54d269fe206be715000f94dac067d1c04a8ca3b2db734"))
	return key
}

// newExample returns the values that most examples share.
func newExample() bolt11.Request {
	return bolt11.Request{
		Network: "bc", MilliSatoshi: 2_000_000_000, Time: time.Unix(1496314658, 0).UTC(), Expiry: time.Hour, FinalCLTV: 18,
		PaymentHash:   array32("0001020304050607080900010203040506070809000102030405060708090102"),
		PaymentSecret: array32(strings.Repeat("11", 32)),
		Features:      []int{8, 14},
		NodeKey:       [33]byte(decode("03e7156ae33b0a208d0744199163177e909e80176e55d97a2f221ede0f934dd9ad")),
	}
}

func TestParse_reads_the_examples_of_BOLT_11(t *testing.T) {
	t.Parallel()
	for name, test := range validVectors {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := newExample()
			test.change(&want)
			got, err := bolt11.Parse(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, want); diff != "" {
				t.Errorf("request differs (-got +want):\n%s", diff)
			}
		})
	}
}

func TestParse_refuses_the_invalid_examples_of_BOLT_11(t *testing.T) {
	t.Parallel()
	for name, test := range invalidVectors {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := bolt11.Parse(test.text)
			if err == nil || !strings.Contains(err.Error(), test.want) || !cmp.Equal(got, bolt11.Request{}) {
				t.Errorf("Parse() = %+v, %v, want no request and %q", got, err, test.want)
			}
		})
	}
}

// The examples with the fields that Sign writes, in its order, have the same bytes: signatures are deterministic.
func TestSign_writes_the_examples_of_BOLT_11(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"any_amount", "one_minute", "UTF-8", "hashed_description"} {
		r := newExample()
		validVectors[name].change(&r)
		got, err := r.Sign(nodeKey())
		if err != nil || got != validVectors[name].text {
			t.Errorf("%s: Sign() = %s, %v, want %s", name, got, err, validVectors[name].text)
		}
	}
}

func TestParse_reads_what_Sign_writes(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		want := bolt11.Request{
			Network: []string{"bc", "tb", "tbs", "bcrt"}[random.IntN(4)],
			Time:    time.Unix(random.Int64N(1<<35), 0).UTC(), Expiry: time.Duration(random.Int64N(1<<32)) * time.Second,
			FinalCLTV: random.Uint32(), Description: strings.Repeat("é", random.IntN(320)), Features: []int{8, 14, 17, 2001},
		}
		for unit := random.Int64N(19); unit > 0 && want.MilliSatoshi < 210_000_000_000_000_000; unit-- {
			want.MilliSatoshi = want.MilliSatoshi*10 + random.Int64N(2)
		}
		for i := range want.PaymentHash {
			want.PaymentHash[i], want.PaymentSecret[i] = byte(random.Uint32()), byte(random.Uint32())
		}
		key, err := btcec.NewPrivateKey()
		if err != nil {
			t.Fatal(err)
		}
		want.NodeKey = [33]byte(key.PubKey().SerializeCompressed())
		text, err := want.Sign(key)
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range []string{text, strings.ToUpper(text)} {
			got, err := bolt11.Parse(form)
			if err != nil {
				t.Fatalf("%s: %v", form, err)
			}
			if diff := cmp.Diff(got, want); diff != "" {
				t.Fatalf("%s differs (-got +want):\n%s", form, diff)
			}
		}
	}
}

func TestParse_reads_amounts_exactly(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"": 0, "1": 100_000_000_000, "21000000": 2_100_000_000_000_000_000,
		"1m": 100_000_000, "10u": 1_000_000, "9n": 900, "10p": 1, "1230p": 123, "20n": 2000, "20000p": 2000,
	} {
		r := newExample()
		got, err := bolt11.Parse(resign(t, r, text))
		if err != nil || got.MilliSatoshi != want {
			t.Errorf("%q: got %d millisatoshi, error %v, want %d", text, got.MilliSatoshi, err, want)
		}
	}
	for _, text := range []string{"0", "01", "0u", "1p", "11p", "21000001", "99999999999999999999", "9223372036854775807", "9223372036854775807m", "1mu", "1x", "5pp", "1M5"} {
		if got, err := bolt11.Parse(resign(t, newExample(), text)); err == nil || !strings.Contains(err.Error(), "amount") {
			t.Errorf("%q: got %d millisatoshi, error %v, want an error about the amount", text, got.MilliSatoshi, err)
		}
	}
}

func TestParse_checks_the_key_of_the_node(t *testing.T) {
	t.Parallel()
	want := newExample()
	want.Description = "shoes"
	other, err := btcec.NewPrivateKey()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		key  []byte
		want string
	}{
		"the signer":  {want.NodeKey[:], ""},
		"another key": {other.PubKey().SerializeCompressed(), "signature is not of the node's key"},
		"not a key":   {make([]byte, 33), "key of the node"},
	} {
		got, err := bolt11.Parse(signFields(t, "lnbc20m", want, field{19, test.key}))
		if test.want != "" {
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: error %v, want %q", name, err, test.want)
			}
			continue
		}
		if diff := cmp.Diff(got, want); err != nil || diff != "" {
			t.Errorf("%s: error %v, request differs (-got +want):\n%s", name, err, diff)
		}
	}
}

func TestParse_refuses_malformed_fields(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		prefix string
		fields []field
		want   string
	}{
		"an unknown currency":          {"lnltc20m", nil, `unknown currency "ltc"`},
		"a prefix of another kind":     {"bc20m", nil, "does not begin with ln"},
		"two descriptions":             {"lnbc20m", []field{{23, make([]byte, 32)}}, "either a description or the hash"},
		"a description that is binary": {"lnbc20m", []field{{13, []byte{0xff, 0xfe}}}, "description is not UTF-8"},
		"an expiry without end":        {"lnbc20m", []field{{6, []byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0}}}, "expiry is longer than a century"},
		"a CLTV without end":           {"lnbc20m", []field{{24, []byte{1, 0, 0, 0, 0, 0}}}, "minimum final CLTV is too large"},
		"an unknown required feature":  {"lnbc20m", []field{{5, []byte{0x40, 0, 0, 0, 0}}}, "requires the unknown feature 38"},
	} {
		r := newExample()
		r.Description = "shoes"
		if _, err := bolt11.Parse(signFields(t, test.prefix, r, test.fields...)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", name, err, test.want)
		}
	}
	if _, err := bolt11.Parse(strings.Repeat("q", 5000)); err == nil || !strings.Contains(err.Error(), "longer than 4096 characters") {
		t.Errorf("a long text: error %v", err)
	}
}

func TestSign_refuses_values_out_of_range(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(r *bolt11.Request)
		want   string
	}{
		"an unknown currency":       {func(r *bolt11.Request) { r.Network = "ltc" }, "currency"},
		"a negative amount":         {func(r *bolt11.Request) { r.MilliSatoshi = -1 }, "amount"},
		"too many bitcoins":         {func(r *bolt11.Request) { r.MilliSatoshi = 2_100_000_000_000_000_001 }, "amount"},
		"a time before 1970":        {func(r *bolt11.Request) { r.Time = time.Unix(-1, 0) }, "time"},
		"a part of a second":        {func(r *bolt11.Request) { r.Time = time.Unix(1, 1) }, "time"},
		"an expiry of milliseconds": {func(r *bolt11.Request) { r.Expiry = time.Millisecond }, "expiry"},
		"a negative expiry":         {func(r *bolt11.Request) { r.Expiry = -time.Second }, "expiry"},
		"a short description hash":  {func(r *bolt11.Request) { r.DescriptionHash = list[:31] }, "description"},
		"two descriptions":          {func(r *bolt11.Request) { r.DescriptionHash, r.Description = list, "shoes" }, "description"},
		"a long description":        {func(r *bolt11.Request) { r.Description = strings.Repeat("x", 640) }, "description"},
		"a binary description":      {func(r *bolt11.Request) { r.Description = "\xff" }, "description"},
		"a negative feature":        {func(r *bolt11.Request) { r.Features = []int{-1} }, "feature"},
	} {
		r := newExample()
		test.change(&r)
		if text, err := r.Sign(nodeKey()); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: Sign() = %q, %v, want an error about the %s", name, text, err, test.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, v := range validVectors {
		f.Add(v.text)
	}
	for _, v := range invalidVectors {
		f.Add(v.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want, err := bolt11.Parse(text)
		if err != nil {
			return
		}
		again, err := want.Sign(nodeKey())
		if err != nil {
			t.Fatalf("Sign() of %+v: %v", want, err)
		}
		got, err := bolt11.Parse(again)
		got.NodeKey = want.NodeKey
		if diff := cmp.Diff(got, want); err != nil || diff != "" {
			t.Errorf("error %v, request differs (-got +want):\n%s", err, diff)
		}
	})
}
