// Package keys parses extended public keys and the view keys of Monero wallets, and derives addresses from them. It cannot
// spend: it refuses keys that can, and makes such keys only for tests.
package keys

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcutil/hdkeychain"

	"chequer/internal/evm"
	"chequer/internal/monero"
)

// Key is a valid extended public key, or the view key of a Monero wallet, with everything that determines its addresses. It
// is safe for concurrent use. The zero value is not a valid key: use Parse, ParseMonero or Load.
type Key struct {
	kind    Kind
	network Network
	script  Script                  // empty for ETH and XMR
	parsed  *hdkeychain.ExtendedKey // the parsed key
	path    string                  // path from the parsed key to the addresses; empty if the depth of that key determines it
	branch  *branch                 // the key from which an index is derived
	monero  *monero.Wallet          // only of kind XMR, which has no parsed, path and branch
	// warnings say what is wrong with the parsed text.
	warnings []string
}

// GapLimit is the number of consecutive unused addresses after which wallets stop searching for payments.
// See BIP 44, "Address gap limit".
const GapLimit = 20

// lookahead is the number of subaddresses after the last used one in which Monero's wallets search for payments. See
// SUBADDRESS_LOOKAHEAD_MINOR in src/wallet/wallet2.cpp of Monero.
const lookahead = 200

// GapLimit returns the number of consecutive unused addresses after which wallets of a kind stop searching for payments.
func (k Kind) GapLimit() int64 {
	if k == XMR {
		return lookahead
	}
	return GapLimit
}

// Parse parses the extended public key of a wallet or, for Bitcoin and Litecoin, a descriptor of
// it, as pasted by a user, or the JSON file that a wallet exports (see parseExport). White space,
// quotes and a byte order mark around the text are ignored.
//
// A key without a descriptor is that of an account, with addresses 0/index, or of its chain, with
// addresses index. Other paths need a descriptor: pkh, wpkh, sh(wpkh) or tr of one key that ends in
// /*. Its checksum may be missing, but not wrong.
//
// The letters ypub, zpub, upub, vpub and Mtub determine the script, and so does the function of a
// descriptor. For xpub, tpub, Ltub and ttub without a descriptor the caller must give the script.
// Parse returns ErrScript if the script is missing or contradicts the key. Ethereum has no script.
//
// Parse returns ErrPrivateKey for a private key in any form. All its errors are sentinels of this
// package.
func Parse(text string, kind Kind, network Network, script Script) (Key, error) {
	text = clean(text)
	key, err := parse(text, kind, script)
	if err != nil {
		if isAddress(text, kind, network) {
			return Key{}, malformed("it is one address: give the extended public key of the wallet (xpub, ypub, zpub), so that each invoice gets an address of its own")
		}
		return Key{}, err
	}
	return key.On(network)
}

// isAddress reports whether a text is an address of a network.
func isAddress(text string, kind Kind, network Network) bool {
	if !kind.isExtended() {
		return false
	}
	_, _, err := ParseAddress(text, kind, network)
	return err == nil
}

// On returns k with the addresses of a network, or ErrNetwork if its letters belong to another network.
func (k Key) On(network Network) (Key, error) {
	if err := network.check(k.kind); err != nil {
		return Key{}, err
	}
	// The version bytes of an extended key do not distinguish Test from Regtest.
	areTests := k.network != Main && network != Main && k.kind != ETH && k.kind != XMR
	if k.network != network && !areTests {
		return Key{}, fmt.Errorf("%w: this is a key of the %s network, and one of the %s network is needed", ErrNetwork, k.network, network)
	}
	if k.network != network { // its addresses have another format
		k.network = network
		k.branch = k.branch.withFormat(k.format)
	}
	return k, nil
}

func parse(text string, kind Kind, script Script) (Key, error) {
	switch {
	case isExport(text) && kind.isExtended():
		return parseExport(text, kind, script)
	case LooksPrivate(text):
		return Key{}, ErrPrivateKey
	case !kind.isExtended():
		return Key{}, ErrKind
	case isDescriptor(text):
		return parseDescriptor(text, kind, script)
	case strings.ContainsAny(text, "/[]*#"):
		return Key{}, descriptorError("a path or an origin in brackets must be within a function, as in wpkh(…)")
	}
	x, err := parseExtended(text)
	if err != nil {
		return Key{}, err
	}
	p, err := x.usualPath()
	if err != nil {
		return Key{}, err
	}
	return newKey(x, p, kind, script)
}

// Load parses the text of String, and no other text. For XMR the text is followed by ":" and the private view key.
func Load(text string) (Key, error) {
	key, err := load(text)
	if err != nil {
		return Key{}, err
	}
	stored := key.String()
	if view := key.ViewKey(); view != "" {
		stored += ":" + view
	}
	if stored != text {
		return Key{}, malformed("it is not in the stored form")
	}
	return key, nil
}

func load(text string) (Key, error) {
	name, rest, _ := strings.Cut(text, ":")
	kind, script := Kind(strings.ToUpper(name)), ""
	if kind == XMR {
		return loadMonero(rest)
	}
	if kind != ETH {
		script, rest, _ = strings.Cut(rest, ":")
	}
	if !kind.isExtended() {
		return Key{}, malformed("it is not in the stored form")
	}
	extended, path, hasPath := strings.Cut(rest, "/")
	x, err := parseExtended(extended)
	if err != nil {
		return Key{}, err
	}
	p, err := x.usualPath()
	if hasPath {
		p, err = parsePath(path)
	}
	if err != nil {
		return Key{}, err
	}
	return newKey(x, p, kind, Script(script))
}

// newKey returns the key of a kind whose addresses are at the end of a path.
func newKey(x extended, p path, kind Kind, script Script) (Key, error) {
	if !x.isOf(kind) {
		return Key{}, x.otherCoin(kind)
	}
	script, err := x.scriptFor(kind, script)
	if err != nil {
		return Key{}, err
	}
	end, err := x.descend(p)
	if err != nil {
		return Key{}, err
	}
	key := Key{kind: kind, network: x.network, script: script, parsed: x.key()}
	if key.branch, err = newBranch(end, key.format); err != nil {
		return Key{}, err
	}
	if usual, err := x.usualPath(); err != nil || !slices.Equal(p, usual) {
		key.path = p.String()
	}
	return key, nil
}

// Kind returns the kind of wallet that k belongs to.
func (k Key) Kind() Kind { return k.kind }

// Network returns the network of k, which shows whether it receives real money.
func (k Key) Network() Network { return k.network }

// Script returns the script of k's addresses; empty for Ethereum and Monero.
func (k Key) Script() Script { return k.script }

// IsChange reports whether the addresses of k are those for change, in branch 1 as in
// m/84'/0'/0'/1. Wallets rarely show payments from others to these addresses. See BIP 44, "Change".
func (k Key) IsChange() bool { return k.branch != nil && k.branch.number == 1 }

// String returns k in the stored form, with everything that determines its addresses: kind, script,
// the key in the neutral letters xpub or tpub, and the path if it is not the usual one for the
// key's depth, as in "btc:p2wpkh:xpub…", "ltc:p2pkh:xpub…/1/*" and "eth:xpub…". Load parses it.
// The text reveals all payments of the wallet, so it must not be logged.
//
// For XMR it is "xmr:" and the primary address of the wallet, which reveals no payments and does not determine the other
// addresses. See ViewKey.
func (k Key) String() string {
	if k.monero != nil {
		return strings.ToLower(string(XMR)) + ":" + k.monero.Address().String()
	}
	parts := []string{strings.ToLower(string(k.kind)), string(k.script), k.parsed.String() + k.path}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ":")
}

// Same reports whether k and other have the same addresses, even if they were spelled differently.
func (k Key) Same(other Key) bool {
	return k.kind == other.kind && k.network == other.network && k.script == other.script && k.Fingerprint() == other.Fingerprint()
}

// Fingerprint identifies the key from which addresses are derived, and therefore the counter of
// their indexes: it is the hash160 of the public key and the chain code directly above the
// addresses, in hex. It does not depend on the spelling, script and path of a key, and is the same
// for an account key, its own chain key 0 and a descriptor that leads there. It reveals nothing
// about k. It is not the fingerprint of BIP 32, which is shorter and omits the chain code. For XMR it is a hash of the
// primary address.
func (k Key) Fingerprint() string {
	if k.monero != nil {
		return moneroFingerprint(k.monero)
	}
	return k.branch.fingerprint()
}

// FirstIndex returns the lowest index whose address an invoice gets: 0, and 1 for XMR, where index 0 is the primary address.
func (k Kind) FirstIndex() uint32 {
	if k == XMR {
		return firstSubaddress
	}
	return 0
}

// Address returns the address at an index, and the form with which transfers to it are matched: the
// scriptPubKey in hex, the Ethereum address in lower case, or the public spend key of a Monero address in hex. It is pure,
// and sends no request to a network. The error is ErrIndex for an index of 2³¹ or above. See BIP 32, "Public parent key →
// public child key". For XMR it is the subaddress with the index in account 0, and the primary address for index 0.
func (k Key) Address(index uint32) (address, script string, err error) {
	if index >= hardened {
		return "", "", ErrIndex
	}
	if k.monero != nil {
		a := k.monero.Subaddress(index)
		return a.String(), a.SpendKey.String(), nil
	}
	found, err := k.branch.address(index)
	if err != nil {
		return "", "", fmt.Errorf("derive address %d: %w", index, err)
	}
	return found.text, found.script, nil
}

// format returns the address of a public key of k.
func (k Key) format(public *btcec.PublicKey) address {
	if k.kind == ETH {
		account := evm.AddressOf(public)
		return address{account.String(), lowerHex(account)}
	}
	output := outputScript(public, k.script)
	return address{encodeOutput(output, prefixesOf(k.kind, k.network)), hex.EncodeToString(output)}
}
