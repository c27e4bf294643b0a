package bitcoin

import (
	"encoding/hex"
	"fmt"

	"github.com/btcsuite/btcd/blockchain"
	"github.com/btcsuite/btcd/btcutil"
	"github.com/btcsuite/btcd/wire"

	"chequer/internal/chain"
)

// NewTx converts a transaction of package wire.
func NewTx(message *wire.MsgTx) Tx {
	tx := Tx{ID: message.TxHash().String(), Coinbase: blockchain.IsCoinBaseTx(message)}
	var sequences []uint32
	for _, in := range message.TxIn {
		sequences = append(sequences, in.Sequence)
		if !tx.Coinbase {
			tx.Spends = append(tx.Spends, in.PreviousOutPoint.String())
		}
	}
	tx.Replaceable = SignalsReplacement(int64(message.Version), sequences)
	for _, out := range message.TxOut {
		tx.Outputs = append(tx.Outputs, Output{Script: hex.EncodeToString(out.PkScript), Units: out.Value})
	}
	return tx
}

// NewHeader converts a header of package wire; height is that of its block.
func NewHeader(height int64, header *wire.BlockHeader) Header {
	return Header{
		Block:  chain.Block{Height: height, Hash: header.BlockHash().String(), Time: header.Timestamp.UTC()},
		Parent: header.PrevBlock.String(),
	}
}

// NewBlock converts a block of package wire. It returns an error if the block's transactions do
// not have the Merkle root of its header.
func NewBlock(height int64, message *wire.MsgBlock) (Block, error) {
	txs := make([]*btcutil.Tx, len(message.Transactions))
	block := Block{Header: NewHeader(height, &message.Header), Txs: make([]Tx, len(message.Transactions))}
	for i, tx := range message.Transactions {
		txs[i] = btcutil.NewTx(tx)
		block.Txs[i] = NewTx(tx)
	}
	if len(txs) == 0 || blockchain.CalcMerkleRoot(txs, false) != message.Header.MerkleRoot {
		return Block{}, fmt.Errorf("block %s: transactions do not match the Merkle root", block.Hash)
	}
	return block, nil
}
