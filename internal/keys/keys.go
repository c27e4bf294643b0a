// Package keys reads extended public keys and makes the addresses that come
// from them. It cannot spend: private keys are refused, those for tests apart.
package keys

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcutil/hdkeychain"
)

// Key is a sound extended public key with everything that its addresses depend
// on. It is safe for concurrent use. The zero value is no key: make one with
// Parse or Load.
type Key struct {
	kind    Kind
	network Network
	script  Script                  // empty for ETH
	given   *hdkeychain.ExtendedKey // the key that was read
	path    string                  // the way from it to addresses, empty where its depth tells
	branch  *branch                 // the key that an index is derived from
	// warnings are contradictions in what was read.
	warnings []string
}

// Parse reads the extended public key of a wallet or, for Bitcoin and Litecoin, a
// descriptor of it, as a person pastes it, or the JSON file that a wallet exports
// (see parseExport). White space, quotes and a byte order mark around it do not count.
//
// A key alone is that of an account, with addresses 0/index, or of its chain, with
// addresses index. Other places are for descriptors to tell: pkh, wpkh, sh(wpkh)
// and tr of one key that ends in /*. Their checksum may be missing, but not wrong.
//
// The letters ypub, zpub, upub, vpub and Mtub decide the script, and so does the
// function of a descriptor; a script that contradicts them is ErrScript. With xpub,
// tpub, Ltub and ttub alone the caller must name it, else the error is ErrScript
// too. Ethereum has none.
//
// A private key in any form is ErrPrivateKey; the other errors are the
// sentinels of this package as well.
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
	if !kind.known() {
		return false
	}
	_, _, err := ParseAddress(text, kind, network)
	return err == nil
}

// On is k with the addresses of a network; ErrNetwork when its letters are those
// of another.
func (k Key) On(network Network) (Key, error) {
	if k.network != network && !(k.network != Main && network != Main && k.kind != ETH) {
		return Key{}, fmt.Errorf("%w: this is a key of the %s network, and one of the %s network is needed", ErrNetwork, k.network, network)
	}
	if k.network != network { // its addresses are spelled otherwise
		k.network = network
		k.branch = k.branch.spelled(k.write)
	}
	return k, nil
}

func parse(text string, kind Kind, script Script) (Key, error) {
	switch {
	case isExport(text) && kind.known():
		return parseExport(text, kind, script)
	case LooksPrivate(text):
		return Key{}, ErrPrivateKey
	case !kind.known():
		return Key{}, ErrKind
	case isDescriptor(text):
		return parseDescriptor(text, kind, script)
	case strings.ContainsAny(text, "/[]*#"):
		return Key{}, unusable("a path or an origin in brackets stands within a function, as in wpkh(…)")
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

// Load reads what String wrote, and nothing else.
func Load(text string) (Key, error) {
	key, err := load(text)
	if err != nil {
		return Key{}, err
	}
	if key.String() != text {
		return Key{}, malformed("it is not in the stored form")
	}
	return key, nil
}

func load(text string) (Key, error) {
	name, rest, _ := strings.Cut(text, ":")
	kind, script := Kind(strings.ToUpper(name)), ""
	if kind != ETH {
		script, rest, _ = strings.Cut(rest, ":")
	}
	if !kind.known() {
		return Key{}, malformed("it is not in the stored form")
	}
	extended, below, hasPath := strings.Cut(rest, "/")
	x, err := parseExtended(extended)
	if err != nil {
		return Key{}, err
	}
	p, err := x.usualPath()
	if hasPath {
		p, err = parsePath(below)
	}
	if err != nil {
		return Key{}, err
	}
	return newKey(x, p, kind, Script(script))
}

// newKey is the key of a kind whose addresses stand at the end of a path.
func newKey(x extended, p path, kind Kind, script Script) (Key, error) {
	if !x.isOf(kind) {
		return Key{}, fmt.Errorf("%w: %s wallets have no %s… key", ErrNetwork, kind, x.name)
	}
	script, err := x.decide(kind, script)
	if err != nil {
		return Key{}, err
	}
	end, err := x.descend(p)
	if err != nil {
		return Key{}, err
	}
	key := Key{kind: kind, network: x.network, script: script, given: x.key()}
	if key.branch, err = newBranch(end, key.write); err != nil {
		return Key{}, err
	}
	if usual, err := x.usualPath(); err != nil || !slices.Equal(p, usual) {
		key.path = p.String()
	}
	return key, nil
}

// Kind is the kind of wallet that k belongs to.
func (k Key) Kind() Kind { return k.kind }

// Network tells whether k receives real money.
func (k Key) Network() Network { return k.network }

// Script is how the addresses of k are locked; empty for Ethereum.
func (k Key) Script() Script { return k.script }

// IsChange tells whether the addresses of k are where wallets keep change, in
// branch 1 as in m/84'/0'/0'/1, and seldom show what arrives from others. See
// BIP 44, "Change".
func (k Key) IsChange() bool { return k.branch.number == 1 }

// String is k in the one form that is stored, with all that its addresses
// depend on: kind, script, the key in the neutral letters xpub or tpub, and the
// path where it is not that of the key's depth, as in "btc:p2wpkh:xpub…",
// "ltc:p2pkh:xpub…/1/*" and "eth:xpub…". Load reads it back. Whoever has it can
// follow the money of the wallet: it is not for logs.
func (k Key) String() string {
	parts := []string{strings.ToLower(string(k.kind)), string(k.script), k.given.String() + k.path}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ":")
}

// Same tells whether k and other have the same addresses, however they were
// spelled.
func (k Key) Same(other Key) bool {
	return k.kind == other.kind && k.network == other.network && k.script == other.script && k.Fingerprint() == other.Fingerprint()
}

// Fingerprint names what addresses are derived from, and so the counter of their
// indexes: the hash160 of the public key and the chain code just above them, in
// hex. Every spelling of a key has the same one, whatever its letters, script and
// path, and so do an account key, its own chain key 0 and a descriptor that leads
// there. It tells nothing of k.
func (k Key) Fingerprint() string { return k.branch.fingerprint() }

// Address is the address at an index and the form that transfers to it are
// matched by: the scriptPubKey in hex, or Ethereum's address in lower case. It is
// pure and asks no network. The error is ErrIndex for an index of 2³¹ and up.
// See BIP 32, "Public parent key → public child key".
func (k Key) Address(index uint32) (address, script string, err error) {
	if index >= hardened {
		return "", "", ErrIndex
	}
	found, err := k.branch.address(index)
	if err != nil {
		return "", "", fmt.Errorf("derive address %d: %w", index, err)
	}
	return found.text, found.script, nil
}

// write is the address of a public key of k.
func (k Key) write(public *btcec.PublicKey) address {
	if k.kind == ETH {
		account := accountOf(public)
		return address{account.String(), account.lower()}
	}
	output := outputScript(public, k.script)
	return address{encodeOutput(output, prefixesOf(k.kind, k.network)), hex.EncodeToString(output)}
}
