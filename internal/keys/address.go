package keys

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/schnorr"
	"github.com/btcsuite/btcd/btcutil"
	"github.com/btcsuite/btcd/btcutil/base58"
	"github.com/btcsuite/btcd/btcutil/bech32"
	"github.com/btcsuite/btcd/txscript"
)

// ParseAddress parses an address of a network. It returns the address in its usual spelling, and
// the form with which transfers to it are matched. The error is ErrAddress, ErrNetwork for an address
// of another network, or ErrKind for an unknown kind of wallet.
func ParseAddress(text string, kind Kind, network Network) (address, script string, err error) {
	switch kind {
	case ETH:
		account, err := ParseEthereumAddress(text)
		if err != nil {
			return "", "", err
		}
		return account.String(), lowerHex(account), nil
	case BTC, LTC:
		if err := network.check(kind); err != nil {
			return "", "", err
		}
		p := prefixesOf(kind, network)
		output, err := decodeAddress(text, p)
		if err != nil {
			return "", "", err
		}
		return encodeOutput(output, p), hex.EncodeToString(output), nil
	case XMR:
		return parseMoneroAddress(text, network)
	}
	return "", "", ErrKind
}

// outputScript returns the scriptPubKey that pays to a public key.
func outputScript(public *btcec.PublicKey, script Script) []byte {
	switch script {
	case P2PKH:
		return payToKeyHash(btcutil.Hash160(public.SerializeCompressed()))
	case P2SHP2WPKH:
		// See BIP 141, "P2WPKH nested in BIP16 P2SH".
		redeem := payToWitness(0, btcutil.Hash160(public.SerializeCompressed()))
		return payToScriptHash(btcutil.Hash160(redeem))
	case P2WPKH:
		return payToWitness(0, btcutil.Hash160(public.SerializeCompressed()))
	case P2TR:
		// Without a script path the key is tweaked, too: see BIP 86, "Address derivation".
		return payToWitness(1, schnorr.SerializePubKey(txscript.ComputeTaprootKeyNoScript(public)))
	}
	panic("keys: unknown script " + string(script))
}

func payToKeyHash(hash []byte) []byte {
	return slices.Concat([]byte{txscript.OP_DUP, txscript.OP_HASH160, txscript.OP_DATA_20}, hash,
		[]byte{txscript.OP_EQUALVERIFY, txscript.OP_CHECKSIG})
}

func payToScriptHash(hash []byte) []byte {
	return slices.Concat([]byte{txscript.OP_HASH160, txscript.OP_DATA_20}, hash, []byte{txscript.OP_EQUAL})
}

// payToWitness returns the version as one opcode and the program as one push: see BIP 141, "Witness
// program".
func payToWitness(version byte, program []byte) []byte {
	opcode := byte(txscript.OP_0)
	if version > 0 {
		opcode = txscript.OP_1 + version - 1
	}
	return slices.Concat([]byte{opcode, byte(len(program))}, program)
}

// encodeOutput returns the address of a scriptPubKey that this package made.
func encodeOutput(output []byte, p prefixes) string {
	switch output[0] {
	case txscript.OP_DUP:
		return base58.CheckEncode(output[3:23], p.p2pkh)
	case txscript.OP_HASH160:
		return base58.CheckEncode(output[2:22], p.p2sh)
	}
	version, encode := byte(0), bech32.Encode
	if output[0] != txscript.OP_0 {
		version, encode = output[0]-txscript.OP_1+1, bech32.EncodeM // see BIP 350
	}
	groups, err := bech32.ConvertBits(output[2:], 8, 5, true)
	if err != nil {
		panic("keys: " + err.Error())
	}
	address, err := encode(p.bech32, append([]byte{version}, groups...))
	if err != nil {
		panic("keys: " + err.Error())
	}
	return address
}

// decodeAddress returns the scriptPubKey of an address.
func decodeAddress(text string, p prefixes) ([]byte, error) {
	if len(text) > 90 { // the limit of bech32, and more than base 58 needs
		return nil, fmt.Errorf("%w: it is too long", ErrAddress)
	}
	if prefix, groups, checksum, err := bech32.DecodeGeneric(text); err == nil {
		if prefix != p.bech32 {
			return nil, fmt.Errorf("%w: addresses here begin with %s1", ErrNetwork, p.bech32)
		}
		return decodeWitness(groups, checksum)
	}
	hash, version, err := base58.CheckDecode(text)
	if errors.Is(err, base58.ErrChecksum) {
		return nil, fmt.Errorf("%w: its checksum is wrong, so a character is missing or mistyped", ErrAddress)
	}
	if err != nil || len(hash) != 20 {
		return nil, ErrAddress
	}
	switch version {
	case p.p2pkh:
		return payToKeyHash(hash), nil
	case p.p2sh:
		return payToScriptHash(hash), nil
	}
	return nil, fmt.Errorf("%w: its first letter is that of another network", ErrNetwork)
}

// decodeWitness decodes a witness program as in BIP 350, "Addresses for segregated witness
// outputs": version 0 has a bech32 checksum, every other version a bech32m checksum.
func decodeWitness(groups []byte, checksum bech32.Version) ([]byte, error) {
	if len(groups) == 0 || groups[0] > 16 {
		return nil, fmt.Errorf("%w: it has no witness version", ErrAddress)
	}
	version := groups[0]
	if (version == 0) != (checksum == bech32.Version0) {
		return nil, fmt.Errorf("%w: its checksum is of the wrong kind", ErrAddress)
	}
	program, err := bech32.ConvertBits(groups[1:], 5, 8, false)
	if err != nil {
		return nil, fmt.Errorf("%w: its padding is wrong", ErrAddress)
	}
	if len(program) < 2 || len(program) > 40 || version == 0 && len(program) != 20 && len(program) != 32 {
		return nil, fmt.Errorf("%w: its length is wrong", ErrAddress)
	}
	return payToWitness(version, program), nil
}
