package keys

import (
	"fmt"
	"slices"
	"strings"
)

// version describes the first four bytes of an extended key.
type version struct {
	name    string // the letters that the bytes become in base 58
	network Network
	script  Script // the script that the letters determine; often empty
	kinds   []Kind // the kinds of wallets that export it
	refusal error  // the reason why it is refused; nil if it is accepted
}

// versions are those of BIP 32, "Serialization format", and of SLIP-132, "Registered HD version
// bytes". Litecoin Core and most Litecoin wallets use Bitcoin's bytes, so both kinds of bytes are
// accepted for Litecoin.
var versions = map[uint32]version{
	0x0488b21e: {name: "xpub", network: Main, kinds: []Kind{BTC, LTC, ETH}},
	0x049d7cb2: {name: "ypub", network: Main, kinds: []Kind{BTC, LTC}, script: P2SHP2WPKH},
	0x04b24746: {name: "zpub", network: Main, kinds: []Kind{BTC, LTC}, script: P2WPKH},
	0x043587cf: {name: "tpub", network: Test, kinds: []Kind{BTC, LTC, ETH}},
	0x044a5262: {name: "upub", network: Test, kinds: []Kind{BTC, LTC}, script: P2SHP2WPKH},
	0x045f1cf6: {name: "vpub", network: Test, kinds: []Kind{BTC, LTC}, script: P2WPKH},
	0x019da462: {name: "Ltub", network: Main, kinds: []Kind{LTC}},
	0x01b26ef6: {name: "Mtub", network: Main, kinds: []Kind{LTC}, script: P2SHP2WPKH},
	0x0436f6e1: {name: "ttub", network: Test, kinds: []Kind{LTC}},

	0x0295b43f: {name: "Ypub", refusal: ErrMultisig},
	0x02aa7ed3: {name: "Zpub", refusal: ErrMultisig},
	0x024289ef: {name: "Upub", refusal: ErrMultisig},
	0x02575483: {name: "Vpub", refusal: ErrMultisig},

	0x0488ade4: {name: "xprv", refusal: ErrPrivateKey},
	0x049d7878: {name: "yprv", refusal: ErrPrivateKey},
	0x04b2430c: {name: "zprv", refusal: ErrPrivateKey},
	0x04358394: {name: "tprv", refusal: ErrPrivateKey},
	0x044a4e28: {name: "uprv", refusal: ErrPrivateKey},
	0x045f18bc: {name: "vprv", refusal: ErrPrivateKey},
	0x0295b005: {name: "Yprv", refusal: ErrPrivateKey},
	0x02aa7a99: {name: "Zprv", refusal: ErrPrivateKey},
	0x024285b5: {name: "Uprv", refusal: ErrPrivateKey},
	0x02575048: {name: "Vprv", refusal: ErrPrivateKey},
	0x019d9cfe: {name: "Ltpv", refusal: ErrPrivateKey},
	0x01b26792: {name: "Mtpv", refusal: ErrPrivateKey},
	0x0436ef7d: {name: "ttpv", refusal: ErrPrivateKey},
}

// neutralVersion returns the version bytes that contain only the network: xpub or tpub.
func neutralVersion(network Network) []byte {
	if network == Test {
		return []byte{0x04, 0x35, 0x87, 0xcf}
	}
	return []byte{0x04, 0x88, 0xb2, 0x1e}
}

func (v version) isOf(kind Kind) bool { return slices.Contains(v.kinds, kind) }

// otherCoin returns the error for a key of another coin than the wallet's.
func (v version) otherCoin(kind Kind) error {
	coin := "Bitcoin"
	if !v.isOf(BTC) {
		coin = "Litecoin"
	}
	text := fmt.Sprintf("%s wallets have no %s… key: this is a %s key", kind, v.name, coin)
	if v.script != "" {
		text += " with script type " + strings.ToUpper(string(v.script))
	}
	if kind == ETH {
		text += ", and Ethereum needs the xpub of m/44'/60'/0'"
	}
	return coinError(text)
}
