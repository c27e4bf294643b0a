package monero

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"
)

// Addresses of tests/functional_tests/validate_address.py, integrated_address.py and README of Monero.
var knownAddresses = map[string]prefix{
	primaryText: {Mainnet, Primary},
	"44Kbx4sJ7JDRDV5aAhLJzQCjDz2ViLRduE3ijDZu3osWKBjMGkV1XPk4pfDUMqt1Aiezvephdqm6YD19GKFD9ZcXVUTp6BW":            {Mainnet, Primary},
	"9ujeXrjzf7bfeK3KZdCqnYaMwZVFuXemPU8Ubw335rj2FN1CdMiWNyFV3ksEfMFvRp9L9qum5UxkP5rN9aLcPxbH1au4WAB":            {Testnet, Primary},
	"53teqCAESLxeJ1REzGMAat1ZeHvuajvDiXqboEocPaDRRmqWoVPzy46GLo866qRFjbNhfkNckyhST3WEvBviDwpUDd7DSzB":            {Stagenet, Primary},
	"4BxSHvcgTwu25WooY4BVmgdcKwZu5EksVZSZkDd6ooxSVVqQ4ubxXkhLF6hEqtw96i9cf3cVfLw8UWe95bdDKfRQeYtPwLm1Jiw7AKt2LY": {Mainnet, Integrated},
	integratedText: {Mainnet, Integrated},
	subaddressText: {Mainnet, Subaddress},
	"888tNkZrPN6JsEgekjMnABU4TBzc2Dt29EPAvkRxbANsAnjyPbb3iQ1YBRk1UXcdRsiKc9dhwMVgN5S9cQUiyoogDavup3H":            {Mainnet, Subaddress},
	"AApMA1VuhiCaHzr5X2KXi2Zc9oJ3VaGjkfChxxpRpxkyKf1NetvbRbQTbFMrGkr85DjnEH7JsBaoUFsgKwZnmtnVWnoB8MDotCsLb7eWwz": {Testnet, Integrated},
	"BdKg9udkvckC5T58a8Nmtb6BNsgRAxs7uA2D49sWNNX5HPW5Us6Wxu8QMXrnSx3xPBQQ2iu9kwEcRGAoiz6EPmcZKbF62GS":            {Testnet, Subaddress},
	"BcFvPa3fT4gVt5QyRDe5Vv7VtUFao9ci8NFEy3r254KF7R1N2cNB5FYhGvrHbMStv4D6VDzZ5xtxeKV8vgEPMnDcNFuwZb9":            {Testnet, Subaddress},
	"5K8mwfjumVseCcQEjNbf59Um6R9NfVUNkHTLhhPCmNvgDLVS88YW5tScnm83rw9mfgYtchtDDTW5jEfMhygi27j1QYphX38hg6m4VMtN29": {Stagenet, Integrated},
	"73LhUiix4DVFMcKhsPRG51QmCsv8dYYbL6GcQoLwEEFvPvkVvc7BhebfA4pnEFF9Lq66hwvLqBvpHjTcqvpJMHmmNjPPBqa":            {Stagenet, Subaddress},
	"7A1Hr63MfgUa8pkWxueD5xBqhQczkusYiCMYMnJGcGmuQxa7aDBxN1G7iCuLCNB3VPeb2TW7U9FdxB27xKkWKfJ8VhUZthF":            {Stagenet, Subaddress},
	"4AzKEX4gXdJdNeM6dfiBFL7kqund3HYGvMBF3ttsNd9SfzgYB6L7ep1Yg1osYJzLdaKAYSLVh6e6jKnAuzj3bw1oGy9kXCb":            {Mainnet, Primary},
	"4GYjoMG9Y2BBUMhuykdK3gQ98XDqDTYW1hNLaXNvjpsJaSbNtdXh1sKMsdVgqkaihChAzEy29zEDPMR3NHQvGoZCVSs1ZojwrDCGS5rUuo": {Mainnet, Integrated},
}

// Addresses of the wallet in tests/functional_tests/wallet.py and integrated_address.py of Monero, and of another one.
const (
	primaryText    = "42ey1afDFnn4886T7196doS9GPMzexD9gXpsZJDwVjeRVdFCSoHnv7KPbBeGpzJBzHRCAs9UxqeoyFQMYbqSWYTfJJQAWDm"
	integratedText = "4CMe2PUhs4J4886T7196doS9GPMzexD9gXpsZJDwVjeRVdFCSoHnv7KPbBeGpzJBzHRCAs9UxqeoyFQMYbqSWYTfSbLRB61BQVATzerHGj"
	subaddressText = "8AsN91rznfkBGTY8psSNkJBg9SZgxxGGRUhGwRptBhgr5XSQ1XzmA9m8QAnoxydecSh5aLJXdrgXwTDMMZ1AuXsN1EX5Mtm"
)

func TestParseAddress(t *testing.T) {
	t.Parallel()
	for text, want := range knownAddresses {
		a, err := ParseAddress(text)
		if err != nil || a.Network != want.network || a.Kind != want.kind {
			t.Errorf("ParseAddress(%s) = %+v, %v, want %+v", text, a, err, want)
		}
		if got := a.String(); got != text {
			t.Errorf("%s is formatted as %s", text, got)
		}
	}
}

// The keys are those of tests/unit_tests/base58.cpp, the payment ID that of tests/functional_tests/integrated_address.py of Monero.
func TestParseAddress_reads_the_keys(t *testing.T) {
	t.Parallel()
	a, err := ParseAddress("4AzKEX4gXdJdNeM6dfiBFL7kqund3HYGvMBF3ttsNd9SfzgYB6L7ep1Yg1osYJzLdaKAYSLVh6e6jKnAuzj3bw1oGy9kXCb")
	if err != nil {
		t.Fatal(err)
	}
	want := Address{
		Network: Mainnet, Kind: Primary,
		SpendKey: bytes32(t, "f724bc5c6cfbb9d97602c300423a2f28641874513a035778a0c1778d833201e9"),
		ViewKey:  bytes32(t, "220939689edf1abd5bc1d031f73ecd6c993add66d6808870456afeb8e7eeb68d"),
	}
	if a != want {
		t.Errorf("got %+v, want %+v", a, want)
	}
	integrated, err := ParseAddress(integratedText)
	if err != nil || hex.EncodeToString(integrated.PaymentID[:]) != "0123456789abcdef" {
		t.Errorf("payment ID = %x, %v", integrated.PaymentID, err)
	}
	primary := integrated
	primary.Kind, primary.PaymentID = Primary, PaymentID{}
	if primary.String() != primaryText {
		t.Errorf("the primary address of %s = %s, want %s", integrated, primary, primaryText)
	}
}

// withSum returns the text of bytes with their checksum.
func withSum(data []byte) string {
	hash := keccak256(data)
	return encodeBase58(append(data[:len(data):len(data)], hash[:checksumSize]...))
}

func TestParsePrimary_refuses(t *testing.T) {
	t.Parallel()
	data, err := decodeBase58(primaryText)
	if err != nil {
		t.Fatal(err)
	}
	data = data[:len(data)-checksumSize]
	changed := func(at int, value byte) string {
		other := append([]byte{}, data...)
		other[at] = value
		return withSum(other)
	}
	for name, tt := range map[string]struct {
		text string
		want error
	}{
		"a_mistyped_character":     {primaryText[:50] + "x" + primaryText[51:], ErrChecksum},
		"a_mistyped_checksum":      {primaryText[:94] + "9", ErrChecksum},
		"two_exchanged_blocks":     {primaryText[:11] + primaryText[22:33] + primaryText[11:22] + primaryText[33:], ErrChecksum},
		"another_character":        {"0" + primaryText[1:], ErrAddress},
		"a_character_less":         {primaryText[:94], ErrAddress},
		"a_character_more":         {primaryText + "1", ErrAddress},
		"a_space_inside":           {primaryText[:50] + " " + primaryText[50:], ErrAddress},
		"nothing":                  {"", ErrAddress},
		"a_long_text":              {strings.Repeat("1", 1<<20), ErrAddress},
		"only_a_checksum":          {withSum(nil), ErrAddress},
		"an_unknown_prefix":        {changed(0, 0), ErrAddress},
		"a_byte_less":              {withSum(data[:64]), ErrAddress},
		"a_byte_more":              {withSum(append(data[:65:65], 0)), ErrAddress},
		"a_payment_ID_too_many":    {withSum(append(data[:65:65], 1, 2, 3, 4, 5, 6, 7, 8)), ErrAddress},
		"integrated_without_an_ID": {changed(0, 19), ErrAddress},
		"an_invalid_spend_key":     {withSum(append(append([]byte{18, 2}, make([]byte, 31)...), data[33:]...)), ErrAddressKey},
		"an_invalid_view_key":      {withSum(append(append(data[:33:33], 2), make([]byte, 31)...)), ErrAddressKey},
		"an_address_of_testnet":    {"9ujeXrjzf7bfeK3KZdCqnYaMwZVFuXemPU8Ubw335rj2FN1CdMiWNyFV3ksEfMFvRp9L9qum5UxkP5rN9aLcPxbH1au4WAB", ErrNetwork},
		"a_subaddress_of_stagenet": {"73LhUiix4DVFMcKhsPRG51QmCsv8dYYbL6GcQoLwEEFvPvkVvc7BhebfA4pnEFF9Lq66hwvLqBvpHjTcqvpJMHmmNjPPBqa", ErrNetwork},
		"a_subaddress":             {subaddressText, ErrSubaddress},
		"an_integrated_address":    {integratedText, ErrIntegrated},
		"an_address_of_Bitcoin":    {"bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq", ErrAddress},
	} {
		a, err := ParsePrimary(tt.text, Mainnet)
		if !errors.Is(err, tt.want) || a != (Address{}) {
			t.Errorf("%s: got %+v, %v, want %v", name, a, err, tt.want)
		}
	}
	if a, err := ParsePrimary(" "+primaryText+"\r\n", Mainnet); err != nil || a.String() != primaryText {
		t.Errorf("the unchanged address in spaces: got %s, %v", a, err)
	}
	if _, err := ParseAddress(" " + primaryText); !errors.Is(err, ErrAddress) {
		t.Errorf("ParseAddress accepts a space: %v", err)
	}
	if _, err := ParsePrimary(primaryText, Stagenet); err == nil || !strings.Contains(err.Error(), "of mainnet, not of stagenet") {
		t.Errorf("the error does not name the networks: %v", err)
	}
}

func TestAddress_without_a_network_has_no_text(t *testing.T) {
	t.Parallel()
	if got := (Address{}).String(); got != "" {
		t.Errorf("got %q", got)
	}
}

// FuzzParseAddress checks that an address has one text.
func FuzzParseAddress(f *testing.F) {
	for text := range knownAddresses {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if a, err := ParseAddress(text); err == nil && a.String() != text {
			t.Errorf("%q is formatted as %q", text, a)
		}
	})
}
