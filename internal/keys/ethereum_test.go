package keys_test

import (
	"errors"
	"strings"
	"testing"

	"chequer/internal/keys"
)

// eip55 are the test cases of ERC-55.
var eip55 = []string{
	// all capitals
	"0x52908400098527886E0F7030069857D2E4169EE7",
	"0x8617E340B3D01FA5F11F306F4090FD50E238070D",
	// all lower
	"0xde709f2102306220921060314715629080e2fb77",
	"0x27b1fdb04752bbc536007a920d24acb045561c26",
	// normal
	"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
	"0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
	"0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
	"0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
}

func TestEthereumAddress_has_the_checksum_of_ERC_55(t *testing.T) {
	t.Parallel()
	for _, want := range eip55 {
		spellings := []string{want, strings.ToLower(want), "0x" + strings.ToUpper(want[2:])}
		for _, text := range spellings {
			address, err := keys.ParseEthereumAddress(text)
			if err != nil {
				t.Errorf("ParseEthereumAddress(%s): %v", text, err)
			}
			if got := address.String(); got != want {
				t.Errorf("ParseEthereumAddress(%s) = %s, want %s", text, got, want)
			}
		}
	}
}

func TestEthereumAddress_refuses_invalid_addresses(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"empty":                        "",
		"no 0x":                        "5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
		"0X":                           "0X5AAEB6053F3E94C9B9A09F33669435E7EF1BEAED",
		"one letter in the other case": "0x5aaeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
		"one digit changed":            "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAee",
		"one digit less":               "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAe",
		"one digit more":               "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed0",
		"not hex":                      "0xgaaeb6053f3e94c9b9a09f33669435e7ef1beaed",
		"space":                        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed ",
		// This first example of ERC-681 has an invalid checksum.
		"example of ERC-681": "0xfb6916095ca1df60bb79Ce92ce3ea74c37c5d359",
	}
	for name, text := range tests {
		if address, err := keys.ParseEthereumAddress(text); !errors.Is(err, keys.ErrAddress) {
			t.Errorf("%s: ParseEthereumAddress() = %s, %v, want ErrAddress", name, address, err)
		}
	}
}
