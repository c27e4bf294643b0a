package keys

import (
	"fmt"
	"slices"
)

// Kind is the kind of wallet that a key belongs to.
type Kind string

// The kinds of wallets. One ETH wallet receives everything on every EVM network. A wallet of kind XMR has a primary address
// and a private view key instead of an extended public key; see ParseMonero.
const (
	BTC Kind = "BTC"
	LTC Kind = "LTC"
	ETH Kind = "ETH"
	XMR Kind = "XMR"
)

// Network distinguishes real money from test money.
type Network string

// The networks of a kind. All public test networks of a coin have the same address prefixes.
// Regtest is a private test network, with the keys of Test but its own address prefixes. Monero has no such prefixes, but
// a second public test network, Stagenet.
const (
	Main     Network = "main"
	Test     Network = "test"
	Regtest  Network = "regtest"
	Stagenet Network = "stagenet"
)

// Script is the kind of condition under which an address can be spent, also called the type of
// the address.
type Script string

// The scripts of a single signer, in the order of their introduction. A key of kind ETH has none.
const (
	P2PKH      Script = "p2pkh"       // 1…, see BIP 44
	P2SHP2WPKH Script = "p2sh-p2wpkh" // 3…, see BIP 49
	P2WPKH     Script = "p2wpkh"      // bc1q…, see BIP 84
	P2TR       Script = "p2tr"        // bc1p…, see BIP 86
)

// Scripts returns the scripts with which a key can be parsed: all of them for Bitcoin and Litecoin,
// the empty one for Ethereum.
func Scripts(kind Kind) []Script {
	switch kind {
	case BTC, LTC:
		return []Script{P2PKH, P2SHP2WPKH, P2WPKH, P2TR}
	case ETH:
		return []Script{""}
	}
	return nil
}

// prefixes are the prefixes of a network's addresses: the version bytes of base 58 and the
// human-readable part of bech32.
type prefixes struct {
	p2pkh, p2sh byte
	bech32      string
}

// prefixesOf returns the prefixes from chainparams.cpp of Bitcoin Core and Litecoin Core. Litecoin
// once used Bitcoin's P2SH bytes; now it writes its own.
func prefixesOf(kind Kind, network Network) prefixes {
	switch {
	case kind == BTC && network == Main:
		return prefixes{p2pkh: 0x00, p2sh: 0x05, bech32: "bc"}
	case kind == BTC && network == Test:
		return prefixes{p2pkh: 0x6f, p2sh: 0xc4, bech32: "tb"}
	case kind == BTC && network == Regtest:
		return prefixes{p2pkh: 0x6f, p2sh: 0xc4, bech32: "bcrt"}
	case kind == LTC && network == Regtest:
		return prefixes{p2pkh: 0x6f, p2sh: 0x3a, bech32: "rltc"}
	case kind == LTC && network == Main:
		return prefixes{p2pkh: 0x30, p2sh: 0x32, bech32: "ltc"}
	case kind == LTC && network == Test:
		return prefixes{p2pkh: 0x6f, p2sh: 0x3a, bech32: "tltc"}
	}
	panic("keys: no address prefixes for " + string(kind) + " " + string(network))
}

// isExtended reports whether keys of a kind are extended public keys.
func (k Kind) isExtended() bool { return slices.Contains([]Kind{BTC, LTC, ETH}, k) }

// check returns ErrNetwork for a network that a kind does not have.
func (n Network) check(kind Kind) error {
	networks := []Network{Main, Test, Regtest}
	if kind == XMR {
		networks = []Network{Main, Test, Stagenet}
	}
	if slices.Contains(networks, n) {
		return nil
	}
	return fmt.Errorf("%w: %q is not a network", ErrNetwork, string(n))
}
