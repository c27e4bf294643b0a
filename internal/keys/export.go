package keys

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// account is an extended public key from a file that a wallet exported.
type account struct {
	key    string // extended key or descriptor
	path   string // path from the master key; empty if the file has none
	script Script // empty if the file has none
}

// clean removes from a pasted text the byte order mark of an editor, white space, and quotes around
// the whole text.
func clean(text string) string {
	text = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), "\ufeff"))
	for _, quotes := range []string{`""`, `''`, "“”", "„“", "«»", "``"} {
		open, end := string([]rune(quotes)[0]), string([]rune(quotes)[1])
		if inner, ok := strings.CutPrefix(text, open); ok {
			if inner, ok = strings.CutSuffix(inner, end); ok {
				return strings.TrimSpace(inner)
			}
		}
	}
	return text
}

// isExport reports whether a text is the JSON file of a wallet.
func isExport(text string) bool { return strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[{") }

// parseExport parses the account key in the file of a wallet: the generic export of Coldcard, a
// wallet file of Electrum, the fields of Wasabi and BlueWallet, and the descriptor in a file of
// Sparrow, Specter or Bitcoin Core.
func parseExport(text string, kind Kind, wanted Script) (Key, error) {
	var object map[string]any
	text = strings.Trim(text, "[]") // the object may be in a list
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		return Key{}, malformed("it begins like a wallet's JSON file, but is not complete JSON")
	}
	if holdsSecretField(object) {
		return Key{}, ErrPrivateKey
	}
	found := accountsIn(object)
	if wanted != "" && len(found) > 1 {
		found = slices.DeleteFunc(found, func(a account) bool { return a.script != wanted })
	}
	switch {
	case len(found) == 0:
		return Key{}, malformed("no account key that can be used is in this wallet's file: export the extended public key (xpub, zpub) or the descriptor")
	case len(found) > 1:
		return Key{}, fmt.Errorf("%w: the file holds several accounts, so add --script %s", ErrScript, scriptsOf(found))
	}
	a := found[0]
	if wanted == "" && !isDescriptor(a.key) {
		wanted = a.script
	}
	if wanted == "" {
		wanted = scriptOfPurpose(a.path)
	}
	key, err := parse(a.key, kind, wanted)
	if err == nil && a.path != "" && !isDescriptor(a.key) {
		key.warnings, err = key.pathWarnings(a.path)
	}
	return key, err
}

// secretFields are names of fields that contain a secret, unless they are empty.
var secretFields = []string{"seed", "xprv", "mnemonic", "passphrase", "private_key", "seed_phrase", "secret"}

// holdsSecretField reports whether a file contains a secret that can spend money.
func holdsSecretField(value any) bool {
	switch v := value.(type) {
	case string:
		return HoldsSecret(v)
	case []any:
		return slices.ContainsFunc(v, holdsSecretField)
	case map[string]any:
		for name, inner := range v {
			text, isText := inner.(string)
			if isText && text != "" && slices.Contains(secretFields, strings.ToLower(name)) || holdsSecretField(inner) {
				return true
			}
		}
	}
	return false
}

// accountsIn returns the accounts of a single signer in a file.
func accountsIn(object map[string]any) (found []account) {
	if text := field(object, "descriptor", "desc"); text != "" {
		return []account{{key: text}}
	}
	if text := field(object, "ExtPubKey"); text != "" {
		return []account{{key: text, path: field(object, "AccountKeyPath")}}
	}
	if store, ok := object["keystore"].(map[string]any); ok {
		return []account{{key: field(store, "xpub"), path: field(store, "derivation")}}
	}
	for _, section := range []struct {
		name   string
		script Script
	}{{"bip44", P2PKH}, {"bip49", P2SHP2WPKH}, {"bip84", P2WPKH}, {"bip86", P2TR}} {
		if fields, ok := object[section.name].(map[string]any); ok && field(fields, "xpub") != "" {
			found = append(found, account{key: field(fields, "xpub"), path: field(fields, "deriv"), script: section.script})
		}
	}
	return found
}

// field returns the first text of the named fields of an object that is not empty; "" if there is none.
func field(object map[string]any, names ...string) string {
	for _, name := range names {
		if text, ok := object[name].(string); ok && text != "" {
			return text
		}
	}
	return ""
}

func scriptsOf(found []account) string {
	var names []string
	for _, a := range found {
		names = append(names, string(a.script))
	}
	return strings.Join(names, " or ")
}
