package bitcointest

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/btcsuite/btcd/blockchain"
	"github.com/btcsuite/btcd/btcutil"
	"github.com/btcsuite/btcd/chaincfg"
	"github.com/btcsuite/btcd/chaincfg/chainhash"
	"github.com/btcsuite/btcd/mining"
	"github.com/btcsuite/btcd/txscript"
	"github.com/btcsuite/btcd/wire"
)

// regtest has the rules of both regression test networks; only their genesis blocks differ.
var regtest = &chaincfg.RegressionNetParams

// header is a block's header in the node's JSON.
type header struct {
	Hash              string
	PreviousBlockHash string
	Height            int64
	Time              int64
}

func (n *Node) header(t testing.TB, hash string) (h header) {
	t.Helper()
	n.Call(t, &h, "getblockheader", hash, true)
	return h
}

func (n *Node) block(t testing.TB, hash string) *wire.MsgBlock {
	t.Helper()
	var raw string
	n.Call(t, &raw, "getblock", hash, 0)
	block := new(wire.MsgBlock)
	if err := block.Deserialize(hex.NewDecoder(strings.NewReader(raw))); err != nil {
		t.Fatalf("block %s: %v", hash, err)
	}
	return block
}

// extend mines a block on a parent. The time of the block is blockTime, or a second after the parent's if that is
// later. The block is the tip afterwards unless the node has a longer chain.
func (n *Node) extend(t testing.TB, parent header, blockTime time.Time, txs []*wire.MsgTx) header {
	t.Helper()
	previous, err := chainhash.NewHashFromStr(parent.Hash)
	if err != nil {
		t.Fatal(err)
	}
	height := parent.Height + 1
	list := []*btcutil.Tx{btcutil.NewTx(n.coinbase(t, int32(height)))}
	for _, tx := range txs {
		list = append(list, btcutil.NewTx(tx))
	}
	if len(txs) > 0 {
		mining.AddWitnessCommitment(list[0], list)
	}
	block := &wire.MsgBlock{Header: wire.BlockHeader{
		Version:    0x20000000, // BIP 9, "no deployment"
		PrevBlock:  *previous,
		MerkleRoot: blockchain.CalcMerkleRoot(list, false),
		Timestamp:  time.Unix(max(blockTime.Unix(), parent.Time+1), 0),
		Bits:       regtest.PowLimitBits,
	}}
	for _, tx := range list {
		block.Transactions = append(block.Transactions, tx.MsgTx())
	}
	n.solve(t, &block.Header)

	var best int64
	n.Call(t, &best, "getblockcount")
	longest := best < height
	var reason *string
	n.Call(t, &reason, "submitblock", encode(t, block))
	if reason != nil && (longest || *reason != "inconclusive") {
		t.Fatalf("block %d: %s", height, *reason)
	}
	n.wallet.record(block.Transactions[0])
	hash := block.BlockHash().String()
	if longest {
		n.until(t, "the new tip", func() bool { return n.Tip(t).Hash == hash })
	}
	return header{Hash: hash, PreviousBlockHash: parent.Hash, Height: height, Time: block.Header.Timestamp.Unix()}
}

// coinbase pays the wallet in several outputs, so that a few mature blocks are
// enough for many payments. It collects no fees.
func (n *Node) coinbase(t testing.TB, height int32) *wire.MsgTx {
	t.Helper()
	// BIP 34 requires the height; the random number makes two blocks of one height differ.
	script, err := txscript.NewScriptBuilder().AddInt64(int64(height)).AddInt64(rand.Int64N(1 << 31)).Script()
	if err != nil {
		t.Fatal(err)
	}
	tx := wire.NewMsgTx(2)
	tx.AddTxIn(wire.NewTxIn(wire.NewOutPoint(&chainhash.Hash{}, wire.MaxPrevOutIndex), script, nil))
	const coins = 10
	for range coins {
		tx.AddTxOut(wire.NewTxOut(blockchain.CalcBlockSubsidy(height, regtest)/coins, n.wallet.ownScript))
	}
	return tx
}

// solve finds the nonce: about half of all nonces are valid.
func (n *Node) solve(t testing.TB, h *wire.BlockHeader) {
	t.Helper()
	for {
		var b bytes.Buffer
		if err := h.Serialize(&b); err != nil {
			t.Fatal(err)
		}
		work := n.software.work(b.Bytes())
		if blockchain.HashToBig(&work).Cmp(regtest.PowLimit) <= 0 {
			return
		}
		h.Nonce++
	}
}
