// Package keys reads extended public keys and makes the addresses that come
// from them. It cannot spend: private keys are refused, those for tests apart.
package keys

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/btcsuite/btcd/btcutil"
	"github.com/btcsuite/btcd/btcutil/hdkeychain"
)

// The depths of BIP 44, "Path levels", that addresses come from.
const (
	accountDepth = 3 // m/purpose'/coin'/account': addresses are 0/index
	chainDepth   = 4 // m/purpose'/coin'/account'/change: addresses are index
)

// Key is a sound extended public key with everything that its addresses depend
// on. It is safe for concurrent use. The zero value is no key: make one with
// Parse or Load.
type Key struct {
	kind    Kind
	network Network
	script  Script                  // empty for ETH
	given   *hdkeychain.ExtendedKey // the key that was read
	branch  *hdkeychain.ExtendedKey // the key that an index is derived from
}

// Parse reads the extended public key of a wallet, as a person pastes it. White
// space around it does not count.
//
// The letters ypub, zpub, upub, vpub and Mtub decide the script, and a script
// that contradicts them is ErrScript. With xpub, tpub, Ltub and ttub the caller
// must name it, else the error is ErrScript too. Ethereum has none.
//
// A private key in any form is ErrPrivateKey; the other errors are the
// sentinels of this package as well.
func Parse(text string, kind Kind, network Network, script Script) (Key, error) {
	key, err := parse(strings.TrimSpace(text), kind, script)
	if err != nil {
		return Key{}, err
	}
	if key.network != network {
		return Key{}, fmt.Errorf("%w: this is a key of the %s network, and one of the %s network is needed", ErrNetwork, key.network, network)
	}
	return key, nil
}

// Load reads what String wrote, and nothing else.
func Load(text string) (Key, error) {
	kind, rest, ok := strings.Cut(text, ":")
	if !ok {
		return Key{}, malformed("it is not in the stored form")
	}
	script, extended := "", rest
	if Kind(strings.ToUpper(kind)) != ETH {
		script, extended, ok = strings.Cut(rest, ":")
	}
	if !ok {
		return Key{}, malformed("it is not in the stored form")
	}
	key, err := parse(extended, Kind(strings.ToUpper(kind)), Script(script))
	if err != nil {
		return Key{}, err
	}
	if key.String() != text {
		return Key{}, malformed("it is not in the stored form")
	}
	return key, nil
}

func parse(text string, kind Kind, script Script) (Key, error) {
	if looksPrivate(text) {
		return Key{}, ErrPrivateKey
	}
	if !kind.known() {
		return Key{}, ErrKind
	}
	x, err := parseExtended(text)
	if err != nil {
		return Key{}, err
	}
	if !x.isOf(kind) {
		return Key{}, fmt.Errorf("%w: %s wallets have no %s… key", ErrNetwork, kind, x.name)
	}
	script, err = x.decide(kind, script)
	if err != nil {
		return Key{}, err
	}
	branch, err := branchOf(x)
	if err != nil {
		return Key{}, err
	}
	return Key{kind: kind, network: x.network, script: script, given: x.key(), branch: branch}, nil
}

// branchOf is the key that addresses are the children of.
func branchOf(x extended) (*hdkeychain.ExtendedKey, error) {
	switch {
	case x.depth == accountDepth:
		return x.key().Derive(0)
	case x.depth == chainDepth && x.child < hardened:
		return x.key(), nil
	case x.depth == chainDepth:
		// m/48'/0'/0'/2' and its kin, see BIP 48.
		return nil, fmt.Errorf("%w: a hardened key at depth 4 is that of a multisig wallet", ErrDepth)
	}
	return nil, fmt.Errorf("%w: its depth is %d, not 3 or 4", ErrDepth, x.depth)
}

// Kind is the kind of wallet that k belongs to.
func (k Key) Kind() Kind { return k.kind }

// Network tells whether k receives real money.
func (k Key) Network() Network { return k.network }

// Script is how the addresses of k are locked; empty for Ethereum.
func (k Key) Script() Script { return k.script }

// String is k in the one form that is stored, with all that its addresses
// depend on: kind, script and the key in the neutral letters xpub or tpub, as in
// "btc:p2wpkh:xpub…", "ltc:p2pkh:tpub…" and "eth:xpub…". Load reads it back.
// Whoever has it can follow the money of the wallet: it is not for logs.
func (k Key) String() string {
	parts := []string{strings.ToLower(string(k.kind)), string(k.script), k.given.String()}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ":")
}

// Fingerprint names what addresses are derived from, and so the counter of their
// indexes: the hash160 of the public key and the chain code just above them, in
// hex. Every spelling of a key has the same one, whatever its letters and script,
// and so does an account key and its own chain key 0. It tells nothing of k.
func (k Key) Fingerprint() string {
	public, err := k.branch.ECPubKey()
	if err != nil {
		panic("keys: key without a point: " + err.Error())
	}
	return hex.EncodeToString(btcutil.Hash160(slices.Concat(public.SerializeCompressed(), k.branch.ChainCode())))
}

// Address is the address at an index and the form that transfers to it are
// matched by: the scriptPubKey in hex, or Ethereum's address in lower case. It is
// pure and asks no network. The error is ErrIndex for an index of 2³¹ and up.
// See BIP 32, "Public parent key → public child key".
func (k Key) Address(index uint32) (address, script string, err error) {
	if index >= hardened {
		return "", "", ErrIndex
	}
	child, err := k.branch.Derive(index)
	if err != nil {
		return "", "", fmt.Errorf("derive address %d: %w", index, err)
	}
	public, err := child.ECPubKey()
	if err != nil {
		return "", "", fmt.Errorf("derive address %d: %w", index, err)
	}
	if k.kind == ETH {
		account := accountOf(public)
		return account.String(), account.lower(), nil
	}
	output := outputScript(public, k.script)
	return encodeOutput(output, prefixesOf(k.kind, k.network)), hex.EncodeToString(output), nil
}
