package node

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"

	"github.com/btcsuite/btcd/btcutil"
	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/btcsuite/btcd/wire"

	"chequer/internal/chain/bitcoin"
	"chequer/internal/chain/utxo"
	"chequer/internal/format"
)

// tx is a transaction in the JSON of getrawtransaction and getblock.
type tx struct {
	TxID    string
	Version int64
	Vin     []struct {
		Coinbase *string
		TxID     string
		Vout     uint32
		Sequence uint32
		IsMWEB   bool
	}
	Vout []struct {
		Value        json.Number
		N            int
		ScriptPubKey struct{ Hex string }
		IsMWEB       bool
	}
}

// convert returns a transaction and its hash. Inputs and outputs of Litecoin's MWEB,
// which have no index, are left out.
func (t tx) convert() (utxo.Tx, chainhash.Hash, error) {
	id, err := parseHash(t.TxID)
	if err != nil {
		return utxo.Tx{}, chainhash.Hash{}, err
	}
	converted := utxo.Tx{ID: t.TxID}
	var sequences []uint32
	hidden := false // inputs of MWEB, whose transactions are not listed
	for _, in := range t.Vin {
		hidden = hidden || in.IsMWEB
		sequences = append(sequences, in.Sequence)
		switch {
		case in.Coinbase != nil:
			converted.Coinbase = true
		case !in.IsMWEB:
			spent, err := parseHash(in.TxID)
			if err != nil {
				return utxo.Tx{}, chainhash.Hash{}, fmt.Errorf("transaction %s: %w", t.TxID, err)
			}
			converted.Spends = append(converted.Spends, wire.NewOutPoint(&spent, in.Vout).String())
		}
	}
	converted.Replaceable = hidden || bitcoin.SignalsReplacement(t.Version, sequences)
	for _, out := range t.Vout {
		if out.IsMWEB {
			continue
		}
		units, err := parseUnits(out.Value)
		script, notHex := hex.DecodeString(out.ScriptPubKey.Hex)
		if err != nil || notHex != nil || out.N != len(converted.Outputs) {
			return utxo.Tx{}, chainhash.Hash{}, fmt.Errorf("output %d of transaction %s is malformed", out.N, t.TxID)
		}
		converted.Outputs = append(converted.Outputs, utxo.Output{Script: hex.EncodeToString(script), Units: units})
	}
	return converted, id, nil
}

// parseUnits converts an amount of coins, "0.00000546" or "5.46e-06", to the smallest unit, of
// which it must be a whole number.
func parseUnits(coins json.Number) (int64, error) {
	const maxLength = 24 // in characters
	value, ok := new(big.Rat).SetString(string(coins))
	if len(coins) > maxLength || strings.Contains(string(coins), "/") || !ok {
		return 0, fmt.Errorf("%q is not an amount", format.OneLine(string(coins), maxQuoted))
	}
	value.Mul(value, big.NewRat(btcutil.SatoshiPerBitcoin, 1))
	if !value.IsInt() || !value.Num().IsInt64() {
		return 0, fmt.Errorf("%q is not an amount", coins)
	}
	return value.Num().Int64(), nil
}

// parseTx parses a transaction in hex.
func parseTx(text string) (utxo.Tx, error) {
	var message wire.MsgTx
	if err := message.Deserialize(hex.NewDecoder(bytes.NewReader([]byte(text)))); err != nil {
		return utxo.Tx{}, err
	}
	return bitcoin.NewTx(&message), nil
}
