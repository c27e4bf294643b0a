package keys_test

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"chequer/internal/keys"
	"chequer/internal/monero"
)

// The wallet of tests/functional_tests/wallet.py of Monero.
const (
	moneroAddress = "42ey1afDFnn4886T7196doS9GPMzexD9gXpsZJDwVjeRVdFCSoHnv7KPbBeGpzJBzHRCAs9UxqeoyFQMYbqSWYTfJJQAWDm"
	moneroView    = "49774391fa5e8d249fc2c5b45dadef13534bf2483dede880dac88f061e809100"
	moneroSpend   = "148d78d2aba7dbca5cd8f6abcfb0b3c009ffbdbea1ff373d50ed94d78286640e"
	moneroSeed    = "velvet lymph giddy number token physics poetry unquoted nibs useful sabotage limits benches lifestyle eden nitrogen anvil fewest avoid batch vials washing fences goat unquoted"
)

func TestParseMonero(t *testing.T) {
	t.Parallel()
	key, err := keys.ParseMonero(" "+moneroAddress+"\n", moneroView+"\r\n", keys.Main)
	if err != nil {
		t.Fatal(err)
	}
	if key.Kind() != keys.XMR || key.Network() != keys.Main || key.String() != "xmr:"+moneroAddress || key.ViewKey() != moneroView || key.Script() != "" || key.IsChange() {
		t.Errorf("got %s %s %s", key.Kind(), key.Network(), key)
	}
	stored := key.String() + ":" + key.ViewKey()
	loaded, err := keys.Load(stored)
	if err != nil || !loaded.Same(key) {
		t.Fatalf("Load(the stored form) = %v, %v", loaded, err)
	}
	for index, want := range []string{moneroAddress, key.Monero().Subaddress(1).String(), key.Monero().Subaddress(2).String()} {
		address, script, err := loaded.Address(uint32(index))
		if err != nil || address != want {
			t.Errorf("Address(%d) = %s, %v, want %s", index, address, err, want)
		}
		parsed, parsedScript, err := keys.ParseAddress(address, keys.XMR, keys.Main)
		if err != nil || parsed != address || parsedScript != script {
			t.Errorf("ParseAddress(%s) = %s, %s, %v, want the script %s", address, parsed, parsedScript, err, script)
		}
	}
	if _, _, err := loaded.Address(1 << 31); !errors.Is(err, keys.ErrIndex) {
		t.Errorf("Address(1 << 31) = %v, want ErrIndex", err)
	}
	if _, err := loaded.On(keys.Stagenet); !errors.Is(err, keys.ErrNetwork) {
		t.Errorf("On(Stagenet) = %v, want ErrNetwork", err)
	}
}

func TestParseMonero_refuses(t *testing.T) {
	t.Parallel()
	key, err := keys.ParseMonero(moneroAddress, moneroView, keys.Main)
	if err != nil {
		t.Fatal(err)
	}
	subaddress := key.Monero().Subaddress(1).String()
	_, test, err := keys.NewTestKey(rand.Reader, keys.XMR)
	if err != nil {
		t.Fatal(err)
	}
	stagenet := strings.TrimPrefix(test.String(), "xmr:")
	for name, tt := range map[string]struct {
		address, view string
		network       keys.Network
		want          error
		message       string
	}{
		"the spend key":              {moneroAddress, moneroSpend, keys.Main, keys.ErrPrivateKey, "make a new wallet for the shop"},
		"a seed as view key":         {moneroAddress, moneroSeed, keys.Main, keys.ErrPrivateKey, "seed words"},
		"a seed as address":          {moneroSeed, moneroView, keys.Main, keys.ErrPrivateKey, "seed words"},
		"a seed without two words":   {strings.Join(strings.Fields(moneroSeed)[2:], " "), moneroView, keys.Main, keys.ErrPrivateKey, "seed words"},
		"the key of another wallet":  {moneroAddress, test.ViewKey(), keys.Main, keys.ErrViewKey, "does not belong to the address"},
		"a short key":                {moneroAddress, moneroView[1:], keys.Main, keys.ErrViewKey, "64 hex digits"},
		"no key":                     {moneroAddress, "", keys.Main, keys.ErrViewKey, "64 hex digits"},
		"a subaddress":               {subaddress, moneroView, keys.Main, keys.ErrAddress, "primary address"},
		"a mistyped address":         {strings.Replace(moneroAddress, "ey1", "ey2", 1), moneroView, keys.Main, keys.ErrAddress, "checksum"},
		"an address of Bitcoin":      {"bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu", moneroView, keys.Main, keys.ErrAddress, "95 characters"},
		"an address of stagenet":     {stagenet, test.ViewKey(), keys.Main, keys.ErrNetwork, "stagenet"},
		"an address of the main net": {moneroAddress, moneroView, keys.Stagenet, keys.ErrNetwork, "mainnet"},
		"a network without Monero":   {moneroAddress, moneroView, keys.Regtest, keys.ErrNetwork, "regtest"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := keys.ParseMonero(tt.address, tt.view, tt.network)
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.message) {
				t.Fatalf("ParseMonero() = %v, want %v with %q", err, tt.want, tt.message)
			}
			for _, part := range []string{moneroView[:16], moneroSpend[:16], "velvet", "physics"} {
				if strings.Contains(err.Error(), part) {
					t.Errorf("the error contains %q: %v", part, err)
				}
			}
		})
	}
}

// The two halves of a form are checked alone, so that each field gets its error.
func TestCheckMoneroViewKey(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{
		moneroView: nil, " " + moneroView + "\n": nil, moneroSeed: keys.ErrPrivateKey, moneroView[1:]: keys.ErrViewKey, "": keys.ErrViewKey,
		strings.Repeat("f", 64): keys.ErrViewKey,
	} {
		if err := keys.CheckMoneroViewKey(text); !errors.Is(err, want) {
			t.Errorf("CheckMoneroViewKey(%q) = %v, want %v", text, err, want)
		}
	}
}

// The texts of the errors have the form of those about addresses of other coins, which pages put into a sentence.
func TestParseAddress_names_the_fault_of_a_Monero_address(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu":    "not a valid address: a Monero address has 95 characters and begins with 4 (8 for a subaddress) on the main network",
		strings.Replace(moneroAddress, "ey1", "ey2", 1): "not a valid address: the checksum of the address does not match, so a character is mistyped or missing",
	} {
		if _, _, err := keys.ParseAddress(address, keys.XMR, keys.Main); !errors.Is(err, keys.ErrAddress) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	want := "for another network: it is an address of Monero's mainnet"
	if _, _, err := keys.ParseAddress(moneroAddress, keys.XMR, keys.Stagenet); !errors.Is(err, keys.ErrNetwork) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestLoad_refuses_another_form_of_a_Monero_key(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no view key":       "xmr:" + moneroAddress,
		"an empty view key": "xmr:" + moneroAddress + ":",
		"capitals":          "xmr:" + moneroAddress + ":" + strings.ToUpper(moneroView),
		"space":             "xmr:" + moneroAddress + ": " + moneroView,
		"the spend key":     "xmr:" + moneroAddress + ":" + moneroSpend,
		"another kind":      "XMR:" + moneroAddress + ":" + moneroView,
	} {
		if key, err := keys.Load(text); err == nil {
			t.Errorf("%s: Load() = %s", name, key)
		} else if strings.Contains(err.Error(), moneroView[:16]) || strings.Contains(err.Error(), moneroSpend[:16]) {
			t.Errorf("%s: the error contains a key: %v", name, err)
		}
	}
}

// A wallet program restores a test wallet from its private spend key: the view key is the hash of it.
func TestNewTestKey_of_Monero(t *testing.T) {
	t.Parallel()
	spend, err := hex.DecodeString(moneroSpend)
	if err != nil {
		t.Fatal(err)
	}
	private, key, err := keys.NewTestKey(bytes.NewReader(spend), keys.XMR)
	if err != nil {
		t.Fatal(err)
	}
	primary, err := monero.ParseAddress(moneroAddress)
	if err != nil {
		t.Fatal(err)
	}
	primary.Network = monero.Stagenet
	if private != moneroSpend || key.ViewKey() != moneroView || key.String() != "xmr:"+primary.String() || key.Network() != keys.Stagenet {
		t.Errorf("got the wallet %s of %s, want %s", key, key.Network(), primary)
	}
}
