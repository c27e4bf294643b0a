package bitcointest

import (
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcutil"
	"github.com/btcsuite/btcd/txscript"
	"github.com/btcsuite/btcd/wire"
)

// wallet owns every coin that the test nodes mine, and every script that they make.
type wallet struct {
	keys      map[string]*btcec.PrivateKey // by script in hex
	ownScript []byte                       // the script of mined coins and change
	txs       map[string]*wire.MsgTx       // by ID, including those that were never sent
	// coins are the unspent outputs, oldest first. Some are not mature yet, and some do not
	// exist any more because their block or transaction was replaced.
	coins []wire.OutPoint
}

func newWallet() *wallet {
	w := &wallet{keys: map[string]*btcec.PrivateKey{}, txs: map[string]*wire.MsgTx{}}
	w.ownScript, _ = hex.DecodeString(w.newScript())
	return w
}

// newScript returns a P2WPKH script of a new key.
func (w *wallet) newScript() string {
	key, err := btcec.NewPrivateKey()
	if err != nil {
		panic(err) // crypto/rand does not fail
	}
	script := "0014" + hex.EncodeToString(btcutil.Hash160(key.PubKey().SerializeCompressed()))
	w.keys[script] = key
	return script
}

// record records a transaction and those of its outputs that the wallet can spend.
func (w *wallet) record(tx *wire.MsgTx) {
	id := tx.TxHash()
	w.txs[id.String()] = tx
	for i, out := range tx.TxOut {
		if string(out.PkScript) == string(w.ownScript) {
			w.coins = append(w.coins, wire.OutPoint{Hash: id, Index: uint32(i)})
		}
	}
}

// removeCoin removes an output from the unspent ones.
func (w *wallet) removeCoin(coin wire.OutPoint) {
	w.coins = slices.DeleteFunc(w.coins, func(c wire.OutPoint) bool { return c == coin })
}

// sign signs every input of a transaction. spent are the outputs that the inputs spend.
func (w *wallet) sign(tx *wire.MsgTx, spent []*wire.TxOut) error {
	outputs := map[wire.OutPoint]*wire.TxOut{}
	for i, in := range tx.TxIn {
		outputs[in.PreviousOutPoint] = spent[i]
	}
	hashes := txscript.NewTxSigHashes(tx, txscript.NewMultiPrevOutFetcher(outputs))
	for i, in := range tx.TxIn {
		key := w.keys[hex.EncodeToString(spent[i].PkScript)]
		if key == nil {
			return fmt.Errorf("%s is not a coin of the wallet", in.PreviousOutPoint)
		}
		var err error
		in.Witness, err = txscript.WitnessSignature(tx, hashes, i, spent[i].Value, spent[i].PkScript, txscript.SigHashAll, key, true)
		if err != nil {
			return err
		}
	}
	return nil
}
