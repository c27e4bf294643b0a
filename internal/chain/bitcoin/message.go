package bitcoin

import (
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/btcsuite/btcd/blockchain"
	"github.com/btcsuite/btcd/btcutil"
	"github.com/btcsuite/btcd/wire"

	"chequer/internal/chain"
	"chequer/internal/chain/utxo"
)

// NewTx converts a transaction of package wire.
func NewTx(message *wire.MsgTx) utxo.Tx {
	tx := utxo.Tx{ID: message.TxHash().String(), Coinbase: blockchain.IsCoinBaseTx(message)}
	var sequences []uint32
	for _, in := range message.TxIn {
		sequences = append(sequences, in.Sequence)
		if !tx.Coinbase {
			tx.Spends = append(tx.Spends, in.PreviousOutPoint.String())
		}
	}
	tx.Replaceable = SignalsReplacement(int64(message.Version), sequences)
	for _, out := range message.TxOut {
		tx.Outputs = append(tx.Outputs, utxo.Output{Script: hex.EncodeToString(out.PkScript), Units: out.Value})
	}
	return tx
}

// NewHeader converts a header of package wire; height is that of its block.
func NewHeader(height int64, header *wire.BlockHeader) utxo.Header {
	return utxo.Header{
		Block:  chain.Block{Height: height, Hash: header.BlockHash().String(), Time: header.Timestamp.UTC()},
		Parent: header.PrevBlock.String(),
	}
}

// NewBlock converts a block of package wire. It returns an error if the block's transactions do
// not have the Merkle root of its header.
func NewBlock(height int64, message *wire.MsgBlock) (utxo.Block, error) {
	txs := make([]*btcutil.Tx, len(message.Transactions))
	block := utxo.Block{Header: NewHeader(height, &message.Header), Txs: make([]utxo.Tx, len(message.Transactions))}
	for i, tx := range message.Transactions {
		txs[i] = btcutil.NewTx(tx)
		block.Txs[i] = NewTx(tx)
	}
	if len(txs) == 0 || blockchain.CalcMerkleRoot(txs, false) != message.Header.MerkleRoot {
		return utxo.Block{}, fmt.Errorf("block %s: transactions do not match the Merkle root", block.Hash)
	}
	return block, nil
}

// trucVersion is the version of transactions that signal replaceability whatever their sequence numbers are. See BIP 431,
// "Specification", rule 1.
const trucVersion = 3

// maxReplaceableSequence is the largest sequence number of an input that signals replaceability. See BIP 125, "Summary".
const maxReplaceableSequence = 0xffffffff - 2

// SignalsReplacement reports whether a transaction with a version and the sequence numbers of its inputs signals that it
// can be replaced.
func SignalsReplacement(version int64, sequences []uint32) bool {
	return version == trucVersion || slices.ContainsFunc(sequences, func(n uint32) bool { return n <= maxReplaceableSequence })
}
