package keys_test

import (
	"errors"
	"strings"
	"testing"

	"chequer/internal/keys"

	"github.com/google/go-cmp/cmp"
)

// C26: the checksum covers the text, so the checksums for h and for ' differ.
func TestParse_reads_a_descriptor_like_its_plain_key(t *testing.T) {
	t.Parallel()
	const (
		quote = "wpkh([73c5da0a/84'/0'/0']" + xpub84 + "/0/*)"
		h     = "wpkh([73c5da0a/84h/0h/0h]" + xpub84 + "/0/*)"
	)
	accepted := map[string]string{
		"hardened with '":         quote + "#wc3n3van",
		"hardened with h":         h + "#afwvtk2s",
		"no checksum":             h,
		"mixed ' and h":           "wpkh([73c5da0a/84h/0'/0h]" + xpub84 + "/0/*)",
		"no origin":               "wpkh(" + xpub84 + "/0/*)#kj7aqcx6",
		"origin without steps":    "wpkh([73C5DA0A]" + xpub84 + "/0/*)",
		"a line break at the end": quote + "#wc3n3van\r\n",
		"white space around":      "\t " + h + "#afwvtk2s ",
		"receive and change":      "wpkh([73c5da0a/84h/0h/0h]" + xpub84 + "/<0;1>/*)",
		"a leading zero":          "wpkh(" + xpub84 + "/00/*)",
		"the chain key":           "wpkh(" + descend(t, xpub84, 0) + "/*)",
	}
	plain, err := keys.Parse(zpub84, keys.BTC, keys.Main, "")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range accepted {
		for _, script := range []keys.Script{"", keys.P2WPKH} {
			key, err := keys.Parse(text, keys.BTC, keys.Main, script)
			if err != nil {
				t.Errorf("%s: Parse() = %v", name, err)
				continue
			}
			got, want := describe(key), describe(plain)
			if name == "the chain key" {
				want.Text = "btc:p2wpkh:" + descend(t, xpub84, 0)
			}
			if diff := cmp.Diff(got, want); diff != "" {
				t.Errorf("%s: differs from the plain key (-got +want):\n%s", name, diff)
			}
			if !key.Same(plain) || key.IsChange() {
				t.Errorf("%s: Same(plain key) = %t, IsChange() = %t, want true, false", name, key.Same(plain), key.IsChange())
			}
		}
	}
	if got := describe(plain).First; got != "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu" {
		t.Errorf("Address(0) = %s", got)
	}
}

func TestParse_refuses_descriptors(t *testing.T) {
	t.Parallel()
	const valid = "[73c5da0a/84h/0h/0h]" + xpub84 + "/0/*"
	tests := map[string]struct {
		text    string
		kind    keys.Kind
		network keys.Network
		script  keys.Script
		want    error
		message string
	}{
		"checksums swapped":          {"wpkh([73c5da0a/84'/0'/0']" + xpub84 + "/0/*)#afwvtk2s", keys.BTC, keys.Main, "", keys.ErrDescriptor, "checksum does not fit"},
		"checksums swapped, h":       {"wpkh(" + valid + ")#wc3n3van", keys.BTC, keys.Main, "", keys.ErrDescriptor, "h and ' were exchanged"},
		"hardened with H":            {"wpkh([73c5da0a/84H/0H/0H]" + xpub84 + "/0/*)", keys.BTC, keys.Main, "", keys.ErrDescriptor, "not H"},
		"hardened twice":             {"wpkh([73c5da0a/84'h]" + xpub84 + "/0/*)", keys.BTC, keys.Main, "", keys.ErrDescriptor, "step in its brackets"},
		"hardened step":              {"wpkh(" + xpub84 + "/0h/*)", keys.BTC, keys.Main, "", keys.ErrDescriptor, "hardened step"},
		"hardened step with '":       {"wpkh(" + xpub84 + "/0'/*)", keys.BTC, keys.Main, "", keys.ErrDescriptor, "hardened step"},
		"hardened step with H":       {"wpkh(" + xpub84 + "/0H/*)", keys.BTC, keys.Main, "", keys.ErrDescriptor, "hardened step"},
		"hardened addresses":         {"wpkh(" + xpub84 + "/0/*h)", keys.BTC, keys.Main, "", keys.ErrDescriptor, "hardened step"},
		"hardened addresses with '":  {"wpkh(" + xpub84 + "/0/*')", keys.BTC, keys.Main, "", keys.ErrDescriptor, "hardened step"},
		"one address":                {"wpkh(" + xpub84 + "/0/7)", keys.BTC, keys.Main, "", keys.ErrDescriptor, "one address"},
		"a slash at the end":         {"wpkh(" + xpub84 + "/0/*/)", keys.BTC, keys.Main, "", keys.ErrDescriptor, "one address"},
		"no step between slashes":    {"wpkh(" + xpub84 + "//*)", keys.BTC, keys.Main, "", keys.ErrDescriptor, "step after its key"},
		"a sign":                     {"wpkh(" + xpub84 + "/+0/*)", keys.BTC, keys.Main, "", keys.ErrDescriptor, "step after its key"},
		"two stars":                  {"wpkh(" + xpub84 + "/*/*)", keys.BTC, keys.Main, "", keys.ErrDescriptor, "step after its key"},
		"multi":                      {"multi(1," + valid + "," + valid + ")", keys.BTC, keys.Main, "", keys.ErrDescriptor, "multi() is for several signers"},
		"sortedmulti":                {"wsh(sortedmulti(1," + valid + "," + valid + "))", keys.BTC, keys.Main, "", keys.ErrDescriptor, "wsh() is for several signers"},
		"sortedmulti alone":          {"sortedmulti(1," + valid + "," + valid + ")", keys.BTC, keys.Main, "", keys.ErrDescriptor, "sortedmulti() is for several signers"},
		"multi in sh":                {"sh(multi(1," + valid + "))", keys.BTC, keys.Main, "", keys.ErrDescriptor, "multi() is for several signers"},
		"wsh":                        {"wsh(pkh(" + valid + "))", keys.BTC, keys.Main, "", keys.ErrDescriptor, "wsh() is"},
		"wsh in sh":                  {"sh(wsh(pkh(" + valid + ")))", keys.BTC, keys.Main, "", keys.ErrDescriptor, "wsh() is"},
		"pkh in sh":                  {"sh(pkh(" + valid + "))", keys.BTC, keys.Main, "", keys.ErrDescriptor, "sh() is read only as sh(wpkh"},
		"tr in sh":                   {"sh(tr(" + valid + "))", keys.BTC, keys.Main, "", keys.ErrDescriptor, "sh() is read only as sh(wpkh"},
		"sh in sh":                   {"sh(sh(wpkh(" + valid + ")))", keys.BTC, keys.Main, "", keys.ErrDescriptor, "sh() is read only as sh(wpkh"},
		"a key in sh":                {"sh(" + valid + ")", keys.BTC, keys.Main, "", keys.ErrDescriptor, "sh() is read only as sh(wpkh"},
		"combo":                      {"combo(" + valid + ")", keys.BTC, keys.Main, "", keys.ErrDescriptor, "combo() describes"},
		"pk":                         {"pk(" + valid + ")", keys.BTC, keys.Main, "", keys.ErrDescriptor, "pk() has no address"},
		"addr":                       {"addr(bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu)", keys.BTC, keys.Main, "", keys.ErrDescriptor, "addr() is an address"},
		"rawtr":                      {"rawtr(" + valid + ")", keys.BTC, keys.Main, "", keys.ErrDescriptor, "rawtr() is not used"},
		"musig in tr":                {"tr(musig(" + valid + "," + valid + ")/0/*)", keys.BTC, keys.Main, "", keys.ErrDescriptor, "function where its key"},
		"tr with scripts":            {"tr(" + valid + ",pk(" + valid + "))", keys.BTC, keys.Main, "", keys.ErrDescriptor, "function where its key"},
		"two keys":                   {"wpkh(" + valid + "," + valid + ")", keys.BTC, keys.Main, "", keys.ErrDescriptor, "more than one key"},
		"a function in wpkh":         {"wpkh(pkh(" + valid + "))", keys.BTC, keys.Main, "", keys.ErrDescriptor, "function where its key"},
		"wpkh in capitals":           {"WPKH(" + valid + ")", keys.BTC, keys.Main, "", keys.ErrDescriptor, "its function is not"},
		"no function":                {"(" + valid + ")", keys.BTC, keys.Main, "", keys.ErrDescriptor, "its function is not"},
		"open at the end":            {"wpkh(" + valid, keys.BTC, keys.Main, "", keys.ErrDescriptor, "parentheses"},
		"half closed":                {"sh(wpkh(" + valid + ")", keys.BTC, keys.Main, "", keys.ErrDescriptor, "parentheses"},
		"closed twice":               {"wpkh(" + valid + "))", keys.BTC, keys.Main, "", keys.ErrDescriptor, "function where its key"},
		"text at the end":            {"wpkh(" + valid + ") for my shop", keys.BTC, keys.Main, "", keys.ErrDescriptor, "parentheses"},
		"empty":                      {"wpkh()", keys.BTC, keys.Main, "", keys.ErrMalformed, ""},
		"parentheses alone":          {")(", keys.BTC, keys.Main, "", keys.ErrDescriptor, "its function is not"},
		"a key without function":     {valid, keys.BTC, keys.Main, keys.P2WPKH, keys.ErrDescriptor, "within a function"},
		"a path without function":    {xpub84 + "/0/*", keys.BTC, keys.Main, keys.P2WPKH, keys.ErrDescriptor, "within a function"},
		"a taproot key alone":        {"tr(a34b99f22c790c4e36b2b3c2c35a36db06226e41c692fc82b8b56ac1c540c5bd)", keys.BTC, keys.Main, "", keys.ErrDescriptor, "single public key"},
		"zpub":                       {"wpkh(" + zpub84 + "/0/*)", keys.BTC, keys.Main, "", keys.ErrDescriptor, "as in Bitcoin Core its key begins with xpub or tpub, not with zpub"},
		"ypub":                       {"sh(wpkh(" + ypub49 + "/0/*))", keys.BTC, keys.Main, "", keys.ErrDescriptor, "not with ypub"},
		"upub":                       {"sh(wpkh(" + upub49 + "/0/*))", keys.BTC, keys.Test, "", keys.ErrDescriptor, "not with upub"},
		"vpub":                       {"wpkh(" + vpub84 + "/0/*)", keys.BTC, keys.Test, "", keys.ErrDescriptor, "not with vpub"},
		"Mtub":                       {"sh(wpkh(" + mtub49 + "/0/*))", keys.LTC, keys.Main, "", keys.ErrDescriptor, "not with Mtub"},
		"Zpub":                       {"wpkh(" + respell(t, zpub84, 0x02aa7ed3) + "/0/*)", keys.BTC, keys.Main, "", keys.ErrMultisig, "multisig"},
		"Ltub for BTC":               {"pkh(" + ltub44 + "/0/*)", keys.BTC, keys.Main, "", keys.ErrNetwork, "BTC wallets have no Ltub"},
		"tpub for the main network":  {"pkh(" + tpub44 + "/0/*)", keys.BTC, keys.Main, "", keys.ErrNetwork, "key of the test network"},
		"xpub for the test network":  {"pkh(" + xpub44 + "/0/*)", keys.BTC, keys.Test, "", keys.ErrNetwork, "key of the main network"},
		"Ethereum":                   {"pkh(" + ethXpub + "/0/*)", keys.ETH, keys.Main, "", keys.ErrDescriptor, "Ethereum has no descriptors"},
		"unknown kind":               {"wpkh(" + valid + ")", "DOGE", keys.Main, "", keys.ErrKind, ""},
		"another script":             {"wpkh(" + valid + ")", keys.BTC, keys.Main, keys.P2TR, keys.ErrScript, "script type of the descriptor is p2wpkh"},
		"a character of the key":     {"wpkh(" + strings.Replace(valid, "WcMLoP2", "WcMLoP3", 1) + ")", keys.BTC, keys.Main, "", keys.ErrMalformed, "checksum"},
		"a line break within":        {"wpkh(" + xpub84 + "\n/0/*)", keys.BTC, keys.Main, "", keys.ErrDescriptor, "character that no descriptor has"},
		"too deep for a key":         {"wpkh(" + xpub84 + strings.Repeat("/0", 252) + "/*)", keys.BTC, keys.Main, "", keys.ErrDepth, "deeper than 255"},
		"very long":                  {"wpkh(" + xpub84 + strings.Repeat("/0", 1<<20) + "/*)", keys.BTC, keys.Main, "", keys.ErrDescriptor, "too long"},
		"very deep in parentheses":   {strings.Repeat("sh(", 300), keys.BTC, keys.Main, "", keys.ErrDescriptor, "sh() is read"},
		"checksum of another script": {"pkh(" + valid + ")#afwvtk2s", keys.BTC, keys.Main, "", keys.ErrDescriptor, "checksum does not fit"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := keys.Parse(test.text, test.kind, test.network, test.script)
			if !errors.Is(err, test.want) {
				t.Fatalf("Parse() = %v, want %v", err, test.want)
			}
			if !strings.Contains(err.Error(), test.message) {
				t.Errorf("got error %q, want %q in it", err, test.message)
			}
			if revealsPart(err, test.text, 20) {
				t.Errorf("the error contains a part of the text: %q", err)
			}
		})
	}
}

func TestParse_descriptor_vectors(t *testing.T) {
	t.Parallel()
	tests := map[string]string{}
	for _, test := range checksums {
		tests[test.text] = test.message
	}
	for _, test := range expressions {
		tests["wpkh("+test.text+")"] = test.message
	}
	for _, test := range multipaths {
		tests[test.text] = test.message
	}
	for text, message := range tests {
		_, err := keys.Parse(text, keys.BTC, keys.Main, "")
		if (err == nil) != (message == "") || err != nil && !strings.Contains(err.Error(), message) {
			t.Errorf("Parse(%s) = %v, want %q in it", text, err, message)
		}
	}
}

func TestParse_descriptor_addresses(t *testing.T) {
	t.Parallel()
	for _, test := range derived {
		key, err := keys.Parse(test.text, test.kind, keys.Main, "")
		if err != nil {
			t.Errorf("Parse(%s) = %v", test.text, err)
			continue
		}
		got := map[uint32]string{}
		for index, want := range test.want {
			address, script, err := key.Address(index)
			if err != nil {
				t.Fatal(err)
			}
			if got[index] = address; script == want {
				got[index] = script
			}
		}
		if diff := cmp.Diff(got, test.want); diff != "" {
			t.Errorf("%s: addresses differ (-got +want):\n%s", test.text, diff)
		}
		if key.String() != test.stored {
			t.Errorf("%s: String() = %s, want %s", test.text, key, test.stored)
		}
		loaded, err := keys.Load(test.stored)
		if err != nil || describe(loaded) != describe(key) || !loaded.Same(key) {
			t.Errorf("Load(%s) = %v, %v, want the same key", test.stored, loaded, err)
		}
	}
}

// Every function for every coin gives the same key as the plain key that the wallet exports.
func TestParse_descriptor_agrees_with_plain_key(t *testing.T) {
	t.Parallel()
	functions := map[keys.Script][2]string{
		keys.P2PKH: {"pkh(", ")"}, keys.P2SHP2WPKH: {"sh(wpkh(", "))"}, keys.P2WPKH: {"wpkh(", ")"}, keys.P2TR: {"tr(", ")"},
	}
	for _, wallet := range wallets {
		if wallet.kind == keys.ETH {
			continue
		}
		version := uint32(0x0488b21e)
		if wallet.network == keys.Test {
			version = 0x043587cf
		}
		plain := mustParse(t, wallet)
		spellings := []string{respell(t, wallet.key, version)}
		if strings.HasPrefix(wallet.key, "Ltub") {
			spellings = append(spellings, wallet.key)
		}
		around := functions[plain.Script()]
		for _, key := range spellings {
			receive, err := keys.Parse(around[0]+key+"/0/*"+around[1], wallet.kind, wallet.network, "")
			if err != nil {
				t.Errorf("%s: Parse(…/0/*) = %v", wallet.name, err)
				continue
			}
			if diff := cmp.Diff(describe(receive), describe(plain)); diff != "" {
				t.Errorf("%s: the descriptor differs from the plain key (-got +want):\n%s", wallet.name, diff)
			}
			change, err := keys.Parse(around[0]+key+"/1/*"+around[1], wallet.kind, wallet.network, "")
			if err != nil || describe(change).First != wallet.change || !change.IsChange() {
				t.Errorf("%s: Parse(…/1/*) = %v, %v, want the change branch", wallet.name, change, err)
			}
			chain := mustParse(t, wallet.chain(t, 1))
			if change.Fingerprint() != chain.Fingerprint() || !change.Same(chain) || change.Same(plain) || !chain.IsChange() {
				t.Errorf("%s: the change branch and its chain key are not the same", wallet.name)
			}
			if want := plain.String() + "/1/*"; change.String() != want {
				t.Errorf("%s: String() = %s, want %s", wallet.name, change, want)
			}
		}
	}
}

// The deepest key of a path still has addresses.
func TestParse_descriptor_of_the_largest_depth(t *testing.T) {
	t.Parallel()
	key, err := keys.Parse("wpkh("+xpub84+strings.Repeat("/0", 251)+"/*)", keys.BTC, keys.Main, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := key.Address(0); err != nil {
		t.Errorf("Address(0) = %v", err)
	}
	if loaded, err := keys.Load(key.String()); err != nil || !loaded.Same(key) {
		t.Errorf("Load(String()) = %v, want the same key", err)
	}
}

// No error for a descriptor with a private key contains a part of the key, whatever else is wrong
// with it.
func TestParse_errors_never_contain_the_private_key_of_a_descriptor(t *testing.T) {
	t.Parallel()
	xprv := bip32[0].steps[3].private
	secrets := []string{
		xprv, xprv[1:], "x" + xprv, xprv[4:], xprv[:60] + " " + xprv[60:], xprv[:60] + "\n" + xprv[60:],
		strings.Replace(xprv, "xprv", "xprw", 1), strings.Replace(xprv, "xprv", "xpub", 1), "xpub" + xprv,
		"L4rK1yDtCWekvXuE6oXD9jCYfFNV2cWRpVuPLBcCU2z8TrisoyY1", "4rK1yDtCWekvXuE6oXD9jCYfFNV2cWRpVuPLBcCU2z8TrisoyY1",
		strings.Repeat("5a", 32), "0x" + strings.Repeat("5a", 32),
		"abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about",
	}
	shapes := []string{
		"KEY", "wpkh(KEY)", "wpkh(KEY/0/*)", "wpkh(KEY/0h/*h)", "wpkh([73c5da0a/84h/0h/0h]KEY/0/*)#wc3n3van", "wpkh([KEY]KEY/0/*)",
		"wpkh([73c5da0a/KEY]" + xpub84 + "/0/*)", "wpkh(" + xpub84 + "/KEY/*)", "wpkh(" + xpub84 + "/<0;KEY>/*)", "wpkh(" + xpub84 + "/0/*)#KEY",
		"sh(wpkh(KEY/0/*))", "tr(KEY/0/*)", "tr(" + xpub84 + "/0/*,pk(KEY))", "wsh(sortedmulti(1,KEY/0/*," + xpub84 + "/0/*))", "KEY(KEY)", "combo(KEY",
	}
	for _, secret := range secrets {
		for _, shape := range shapes {
			text := strings.ReplaceAll(shape, "KEY", secret)
			for _, kind := range []keys.Kind{keys.BTC, keys.LTC, keys.ETH} {
				_, err := keys.Parse(text, kind, keys.Main, "")
				if err == nil {
					t.Fatalf("Parse(%s) succeeds", text)
				}
				if revealsPart(err, secret, 8) {
					t.Errorf("Parse(%s): the error contains a part of the secret: %q", text, err)
				}
				stored := strings.ToLower(string(kind)) + ":p2wpkh:" + text
				if _, err := keys.Load(stored); err == nil || revealsPart(err, secret, 8) {
					t.Errorf("Load(%s) = %v, want an error without the secret", stored, err)
				}
			}
		}
	}
	for _, shape := range shapes {
		if _, err := keys.Parse(strings.ReplaceAll(shape, "KEY", xprv), keys.BTC, keys.Main, ""); !errors.Is(err, keys.ErrPrivateKey) {
			t.Errorf("%s with an xprv: Parse() = %v, want ErrPrivateKey", shape, err)
		}
	}
}

// revealsPart reports whether an error contains length consecutive characters of a text.
func revealsPart(err error, text string, length int) bool {
	for i := range len(text) - length + 1 {
		part := text[i : i+length]
		if strings.Contains(err.Error(), part) && !strings.Contains(keys.ErrDescriptor.Error(), part) {
			return true
		}
	}
	return false
}

func FuzzParseDescriptor(f *testing.F) {
	for _, test := range derived {
		f.Add(test.text, string(test.kind), uint(7), byte('q'))
	}
	for _, test := range checksums {
		f.Add(test.text, "BTC", uint(3), byte('('))
	}
	for _, test := range expressions {
		f.Add("sh(wpkh("+test.text+"))", "LTC", uint(130), byte('1'))
	}
	for _, test := range multipaths {
		f.Add(test.text, "BTC", uint(11), byte('\''))
	}
	f.Add("wpkh([73c5da0a/84h/0h/0h]"+xpub84+"/0/*)#afwvtk2s", "BTC", uint(9), byte('\''))
	f.Fuzz(func(t *testing.T, text, kind string, at uint, other byte) {
		key, err := keys.Parse(text, keys.Kind(kind), keys.Main, "")
		if err != nil {
			if revealsPart(err, text, 100) {
				t.Errorf("the error contains a part of the text: %q", err)
			}
			return
		}
		loaded, err := keys.Load(key.String())
		if err != nil || describe(loaded) != describe(key) || !loaded.Same(key) || loaded.IsChange() != key.IsChange() {
			t.Fatalf("Load(%s) = %s, %v, want the same key", key, loaded, err)
		}
		// If there is a checksum, every single wrong character is detected.
		text = strings.TrimSpace(text)
		wrong := []byte(text)
		if i := int(at % uint(len(wrong))); strings.Contains(text, "#") && wrong[i] != other && !strings.ContainsRune("# \t\n\v\f\r", rune(other)) && text[i] != '#' {
			wrong[i] = other
			if key, err := keys.Parse(string(wrong), keys.Kind(kind), keys.Main, ""); err == nil {
				t.Errorf("Parse(%q) = %s, want an error as one character of %q is wrong", wrong, key, text)
			}
		}
	})
}
