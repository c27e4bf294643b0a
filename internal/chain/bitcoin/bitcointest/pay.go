package bitcointest

import (
	"bytes"
	"encoding/hex"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/wire"

	"chequer/internal/chain/chaintest"
	"chequer/internal/money"
)

// minChange is the least value of a change output, in the smallest unit: more than any dust limit.
const minChange = 10_000

// NewScript returns a script without payments, of a key in the wallet.
func (n *Node) NewScript(testing.TB) string { return n.wallet.newScript() }

// Send puts a transaction into the mempool that signals that it is replaceable.
func (n *Node) Send(t testing.TB, outputs ...chaintest.Output) (tx string) {
	t.Helper()
	return n.Broadcast(t, n.pay(t, nil, outputs, replaceable, feeRate, 0))
}

// SendFinal is Send for a transaction that does not signal that it is replaceable.
func (n *Node) SendFinal(t testing.TB, outputs ...chaintest.Output) (tx string) {
	t.Helper()
	return n.Broadcast(t, n.pay(t, nil, outputs, wire.MaxTxInSequenceNum-1, feeRate, 0))
}

// SendWithFee is Send with a given fee.
func (n *Node) SendWithFee(t testing.TB, fee money.Amount, outputs ...chaintest.Output) (tx string) {
	t.Helper()
	return n.Broadcast(t, n.pay(t, nil, outputs, replaceable, 0, fee.Minor().Int64()))
}

// Spend puts a transaction into the mempool that spends an output of one of the wallet's
// scripts, "txid:vout".
func (n *Node) Spend(t testing.TB, outpoint string, outputs ...chaintest.Output) (tx string) {
	t.Helper()
	coin, err := wire.NewOutPointFromString(outpoint)
	if err != nil {
		t.Fatal(err)
	}
	return n.Broadcast(t, n.pay(t, []wire.OutPoint{*coin}, outputs, replaceable, feeRate, 0))
}

// Replace double-spends a waiting transaction of the wallet for twice its fee.
func (n *Node) Replace(t testing.TB, tx string, outputs ...chaintest.Output) (replacement string) {
	t.Helper()
	replacement = n.Conflict(t, tx, outputs...)
	n.Broadcast(t, replacement)
	n.until(t, "a mempool without "+tx, func() bool { return !slices.Contains(n.Waiting(t), tx) })
	return replacement
}

// Conflict makes a transaction that spends the inputs of a transaction of the wallet, and does
// not broadcast it: Mine puts it into a block before any mempool has it.
func (n *Node) Conflict(t testing.TB, tx string, outputs ...chaintest.Output) (conflict string) {
	t.Helper()
	old := n.transaction(t, tx)
	fee := -totalValue(old.TxOut)
	var coins []wire.OutPoint
	for _, in := range old.TxIn {
		coins = append(coins, in.PreviousOutPoint)
		fee += n.output(t, in.PreviousOutPoint).Value
	}
	rate := fee/maxSize(len(old.TxIn), len(old.TxOut)) + 1
	return n.pay(t, coins, outputs, replaceable, 2*rate, 2*fee)
}

// Broadcast puts a transaction of the wallet into the mempool.
func (n *Node) Broadcast(t testing.TB, tx string) string {
	t.Helper()
	n.Call(t, nil, "sendrawtransaction", encode(t, n.transaction(t, tx)))
	n.until(t, tx, func() bool { return slices.Contains(n.Waiting(t), tx) })
	return tx
}

// Waiting returns the transactions in the mempool.
func (n *Node) Waiting(t testing.TB) (txs []string) {
	t.Helper()
	n.Call(t, &txs, "getrawmempool")
	return txs
}

// Raw returns a transaction in hex: one of the wallet's, or one that the node knows.
func (n *Node) Raw(t testing.TB, tx string) string {
	t.Helper()
	return encode(t, n.transaction(t, tx))
}

// feeRate is the fee rate of the wallet's transactions, in satoshis per virtual byte: ten times the
// minimum of nodes.
const feeRate = 10

// maxSize returns an upper bound of the virtual bytes of a transaction with one more output, for
// change: 68 for each P2WPKH input and 43 for each output, as P2WSH and P2TR need.
func maxSize(inputs, outputs int) int64 { return int64(11 + 68*inputs + 43*(outputs+1)) }

// replaceable is the sequence number of an input that signals that its transaction may be replaced. See BIP 125, "Summary".
const replaceable = wire.MaxTxInSequenceNum - 2

// pay makes a transaction that spends the given coins, and more coins of the wallet if
// they are not enough, by inputs with a sequence number. Its fee is at least minFee, and at least rate for each virtual byte.
func (n *Node) pay(t testing.TB, coins []wire.OutPoint, outputs []chaintest.Output, sequence uint32, rate, minFee int64) (id string) {
	t.Helper()
	tx := wire.NewMsgTx(2)
	for _, o := range outputs {
		script, err := hex.DecodeString(o.Script)
		if err != nil {
			t.Fatal(err)
		}
		tx.AddTxOut(wire.NewTxOut(o.Amount.Minor().Int64(), script))
	}
	var spent []*wire.TxOut
	for missing := -totalValue(tx.TxOut); ; {
		fee := max(minFee, rate*maxSize(len(tx.TxIn), len(outputs)))
		if missing >= fee && len(coins) == 0 {
			if missing-fee >= minChange {
				tx.AddTxOut(wire.NewTxOut(missing-fee, n.wallet.ownScript))
			}
			break
		}
		if len(coins) == 0 {
			coins = append(coins, n.takeCoin(t))
		}
		in := wire.NewTxIn(&coins[0], nil, nil)
		in.Sequence = sequence
		tx.AddTxIn(in)
		out := n.output(t, coins[0])
		spent, missing, coins = append(spent, out), missing+out.Value, coins[1:]
	}
	if err := n.wallet.sign(tx, spent); err != nil {
		t.Fatal(err)
	}
	n.wallet.record(tx)
	return tx.TxHash().String()
}

// takeCoin takes the oldest spendable coin of the wallet.
func (n *Node) takeCoin(t testing.TB) wire.OutPoint {
	t.Helper()
	const maturity = 100
	for _, coin := range n.wallet.coins {
		var out *struct {
			Confirmations int
			Coinbase      bool
		}
		n.Call(t, &out, "gettxout", coin.Hash.String(), coin.Index, false)
		if out != nil && (!out.Coinbase || out.Confirmations >= maturity) {
			n.wallet.removeCoin(coin)
			return coin
		}
	}
	t.Fatal("no coin can be spent: mine more blocks")
	return wire.OutPoint{}
}

// transaction returns one of the wallet's transactions, or one that the node knows.
func (n *Node) transaction(t testing.TB, id string) *wire.MsgTx {
	t.Helper()
	if tx := n.wallet.txs[id]; tx != nil {
		return tx
	}
	var raw string
	n.Call(t, &raw, "getrawtransaction", id)
	tx := new(wire.MsgTx)
	if err := tx.Deserialize(hex.NewDecoder(strings.NewReader(raw))); err != nil {
		t.Fatalf("transaction %s: %v", id, err)
	}
	return tx
}

// output returns the output at an outpoint.
func (n *Node) output(t testing.TB, o wire.OutPoint) *wire.TxOut {
	t.Helper()
	return n.transaction(t, o.Hash.String()).TxOut[o.Index]
}

func totalValue(outputs []*wire.TxOut) (sum int64) {
	for _, out := range outputs {
		sum += out.Value
	}
	return sum
}

// encode returns a transaction or block in hex.
func encode(t testing.TB, message interface{ Serialize(io.Writer) error }) string {
	t.Helper()
	var b bytes.Buffer
	if err := message.Serialize(&b); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(b.Bytes())
}
