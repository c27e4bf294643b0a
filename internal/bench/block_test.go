package bench_test

import (
	"math/rand/v2"
	"time"

	"github.com/btcsuite/btcd/blockchain"
	"github.com/btcsuite/btcd/btcutil"
	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/btcsuite/btcd/wire"
)

// newBlock returns a block with the given number of transactions after the coinbase, of two or three
// outputs each. Each of the given scripts is paid by one output, if there are enough transactions.
func newBlock(random *rand.Rand, paidScripts [][]byte, transactions int) *wire.MsgBlock {
	block := &wire.MsgBlock{Header: wire.BlockHeader{Version: 4, Timestamp: time.Unix(1_795_000_000, 0)}}
	coinbase := wire.NewMsgTx(2)
	coinbase.AddTxIn(wire.NewTxIn(wire.NewOutPoint(&chainhash.Hash{}, wire.MaxPrevOutIndex), []byte{3, 1, 2, 3}, nil))
	coinbase.AddTxOut(wire.NewTxOut(312_500_000, newScript(random)))
	block.Transactions = append(block.Transactions, coinbase)
	for n := range transactions {
		tx := wire.NewMsgTx(2)
		for range 1 + random.IntN(2) {
			var before chainhash.Hash
			fill(random, before[:])
			signature, key := make([]byte, 71), make([]byte, 33)
			fill(random, signature)
			fill(random, key)
			tx.AddTxIn(wire.NewTxIn(wire.NewOutPoint(&before, random.Uint32N(4)), nil, wire.TxWitness{signature, key}))
		}
		for range 2 + n%2 {
			tx.AddTxOut(wire.NewTxOut(random.Int64N(1e8), newScript(random)))
		}
		if step := max(transactions/max(len(paidScripts), 1), 1); n%step == 0 && n/step < len(paidScripts) {
			tx.TxOut[0].PkScript = paidScripts[n/step]
		}
		block.Transactions = append(block.Transactions, tx)
	}
	txs := make([]*btcutil.Tx, len(block.Transactions))
	for i, tx := range block.Transactions {
		txs[i] = btcutil.NewTx(tx)
	}
	block.Header.MerkleRoot = blockchain.CalcMerkleRoot(txs, false)
	return block
}

// newScript returns a random script of a common kind. Two thirds of the scripts pay the hash of a key, and
// half of the others pay a taproot output.
func newScript(random *rand.Rand) []byte {
	var s []byte
	switch random.IntN(6) {
	case 0: // P2TR
		s = append([]byte{0x51, 0x20}, make([]byte, 32)...)
		fill(random, s[2:])
	case 1: // P2SH
		s = append([]byte{0xa9, 0x14}, make([]byte, 21)...)
		fill(random, s[2:22])
		s[22] = 0x87
	default: // P2WPKH
		s = append([]byte{0x00, 0x14}, make([]byte, 20)...)
		fill(random, s[2:])
	}
	return s
}

// fill fills b with random bytes.
func fill(random *rand.Rand, b []byte) {
	for i := range b {
		b[i] = byte(random.Uint32())
	}
}
