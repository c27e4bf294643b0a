package keys

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// maxDescriptor is longer than any wallet's descriptor of one key.
const maxDescriptor = 1024

// functions are the script expressions of a single signer that have an address. See BIP 381, BIP
// 382 and BIP 386.
var functions = map[string]Script{
	"pkh":      P2PKH,
	"sh(wpkh)": P2SHP2WPKH,
	"wpkh":     P2WPKH,
	"tr":       P2TR,
}

// refusedFunctions are the other script expressions, with the reason why they are refused.
var refusedFunctions = map[string]string{
	"multi":         "is for several signers",
	"sortedmulti":   "is for several signers",
	"multi_a":       "is for several signers",
	"sortedmulti_a": "is for several signers",
	"musig":         "is for several signers",
	"wsh":           "is for several signers or conditions",
	"sh":            "is read only as sh(wpkh(…))",
	"combo":         "describes several types of addresses",
	"pk":            "has no address",
	"addr":          "is an address, not a key",
	"raw":           "is a script, not a key",
	"rawtr":         "is not used by wallets to receive payments",
}

// isDescriptor reports whether a text is a descriptor, and not an extended key, which has no
// parentheses.
func isDescriptor(text string) bool { return strings.ContainsAny(text, "()") }

// parseDescriptor parses an output descriptor of one extended public key: see BIP 380. As in
// Bitcoin Core the key is written with xpub or tpub, since the function already determines the
// script. Litecoin's own Ltub and ttub do not determine a script either, and are accepted too.
func parseDescriptor(text string, kind Kind, wanted Script) (Key, error) {
	if kind == ETH {
		return Key{}, descriptorError("Ethereum has no descriptors: give the xpub alone")
	}
	if len(text) > maxDescriptor {
		return Key{}, descriptorError("it is too long")
	}
	body, err := cutChecksum(text)
	if err != nil {
		return Key{}, err
	}
	script, expression, err := parseFunction(body)
	if err != nil {
		return Key{}, err
	}
	if wanted != "" && wanted != script {
		return Key{}, fmt.Errorf("%w: the script type of the descriptor is %s, which differs from --script", ErrScript, script)
	}
	x, p, err := parseExpression(expression)
	if err != nil {
		return Key{}, err
	}
	key, err := newKey(x, p, kind, script)
	if err != nil {
		return Key{}, err
	}
	if origin, _, ok := strings.Cut(expression, "]"); ok {
		if _, path, ok := strings.Cut(origin, "/"); ok {
			key.warnings, err = key.pathWarnings(path)
		}
	}
	return key, err
}

// parseFunction splits a descriptor without its checksum into the script of its function and the
// key expression within.
func parseFunction(body string) (script Script, expression string, err error) {
	name, argument, closed := cutCall(body)
	if name == "sh" {
		name, argument, closed = cutCall(argument)
		if name == "wpkh" {
			name = "sh(wpkh)"
		} else if refusedFunctions[name] == "" { // otherwise the inner function is the reason for the refusal
			name = "sh"
		}
	}
	reason, isRefused := refusedFunctions[name]
	script, known := functions[name]
	switch {
	case isRefused:
		return "", "", descriptorError(name + "() " + reason)
	case !known:
		return "", "", descriptorError("its function is not pkh(), wpkh(), sh(wpkh()) or tr()")
	case !closed:
		return "", "", descriptorError("its parentheses do not match")
	case isDescriptor(argument):
		return "", "", descriptorError("it has a function where its key should be")
	case strings.Contains(argument, ","):
		return "", "", descriptorError("it has more than one key")
	}
	return script, argument, nil
}

// cutCall returns the name and the argument of name(argument).
func cutCall(text string) (name, argument string, closed bool) {
	name, argument, _ = strings.Cut(text, "(")
	argument, closed = strings.CutSuffix(argument, ")")
	return name, argument, closed
}

// parseExpression parses a key with its origin and its path. See BIP 380, "Key Expressions".
func parseExpression(text string) (extended, path, error) {
	text, err := cutOrigin(text)
	if err != nil {
		return extended{}, nil, err
	}
	key, path, ranged := strings.Cut(text, "/")
	if isRawKey(key) {
		return extended{}, nil, descriptorError("it has a single public key, which has only one address: give an extended one (xpub…)")
	}
	x, err := parseExtended(key)
	if err != nil {
		return extended{}, nil, err
	}
	if x.script != "" {
		return extended{}, nil, descriptorError("a descriptor names the script itself, so as in Bitcoin Core its key begins with xpub or tpub, not with " + x.name)
	}
	if !ranged {
		return extended{}, nil, descriptorError(oneAddress)
	}
	p, err := parsePath(path)
	return x, p, err
}

// cutOrigin removes the origin from a key expression, such as [73c5da0a/84h/0h/0h]. It only checks
// the origin, because no address depends on it.
func cutOrigin(text string) (key string, err error) {
	key = text
	if rest, ok := strings.CutPrefix(text, "["); ok {
		origin, after, _ := strings.Cut(rest, "]")
		steps := strings.Split(origin, "/")
		if fingerprint, err := hex.DecodeString(steps[0]); err != nil || len(fingerprint) != 4 {
			return "", descriptorError("the fingerprint in its brackets is not 8 hex digits")
		}
		for _, step := range steps[1:] {
			number, isHardened := strings.CutSuffix(step, "h")
			if !isHardened {
				number = strings.TrimSuffix(step, "'")
			}
			if _, err := strconv.ParseUint(number, 10, 31); err != nil {
				return "", descriptorError("a step in its brackets is not a number from 0 to 2147483647, with h or ' (not H) when hardened")
			}
		}
		key = after
	}
	if strings.ContainsAny(key, "[]") {
		return "", descriptorError("brackets are allowed only once, before the key")
	}
	return key, nil
}

// isRawKey reports whether a text is a single public key in hex: compressed, uncompressed, or the x
// coordinate of taproot.
func isRawKey(text string) bool {
	raw, err := hex.DecodeString(text)
	return err == nil && (len(raw) == 33 || len(raw) == 65 || len(raw) == 32)
}

func descriptorError(reason string) error { return fmt.Errorf("%w: %s", ErrDescriptor, reason) }
