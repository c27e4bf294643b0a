package node_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/btcsuite/btcd/wire"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
	"chequer/internal/chain/bitcoin/node"
	"chequer/internal/chain/chaintest"
	"chequer/internal/chain/utxo"
)

// fees sets the answers of the node: the fee in satoshi of every transaction, of 200 virtual bytes, and the least fee rates.
func (f *fake) fees(base int64, mempoolMin, relayMin string) {
	f.set(func() {
		f.answers["getmempoolentry"] = result(map[string]any{
			"time": f.clock.Now().Unix(), "vsize": 200, "fees": map[string]any{"base": json.Number(fmt.Sprintf("0.%08d", base))},
		})
		f.answers["getmempoolinfo"] = result(map[string]any{"loaded": true, "mempoolminfee": json.Number(mempoolMin), "minrelaytxfee": json.Number(relayMin)})
	})
}

// A waiting transaction is firm in a complete listing if all its inputs are confirmed, it does not signal replaceability, and it
// pays the least fee rate that the node reports.
func TestWaiting_firm(t *testing.T) {
	t.Parallel()
	watch := chaintest.Watch{destination(1): true}
	for name, tt := range map[string]struct {
		prepare func(f *fake)
		change  func(f *fake, tx *wire.MsgTx)
		json    bool
		want    bool
	}{
		"without fees, as btcd":          {nil, nil, false, true},
		"of Litecoin, in JSON":           {nil, nil, true, true},
		"replaceable by BIP 125":         {nil, func(_ *fake, tx *wire.MsgTx) { tx.TxIn[0].Sequence = 0xfffffffd }, false, false},
		"replaceable, in JSON":           {nil, func(_ *fake, tx *wire.MsgTx) { tx.TxIn[0].Sequence = 0xfffffffd }, true, false},
		"with a lock time, final":        {nil, func(_ *fake, tx *wire.MsgTx) { tx.TxIn[0].Sequence = 0xfffffffe }, false, true},
		"replaceable by BIP 431":         {nil, func(_ *fake, tx *wire.MsgTx) { tx.Version = 3 }, false, false},
		"replaceable by BIP 431 in JSON": {nil, func(_ *fake, tx *wire.MsgTx) { tx.Version = 3 }, true, false},
		"a second input is replaceable": {nil, func(_ *fake, tx *wire.MsgTx) {
			tx.AddTxIn(wire.NewTxIn(wire.NewOutPoint(&tx.TxIn[0].PreviousOutPoint.Hash, 77), nil, nil))
			tx.TxIn[1].Sequence = 0
		}, false, false},
		"with an unconfirmed input": {nil, func(f *fake, tx *wire.MsgTx) {
			parent := f.mempool[0].TxHash()
			tx.TxIn[0].PreviousOutPoint = *wire.NewOutPoint(&parent, 0)
		}, false, false},
		"at the least fee rate":         {func(f *fake) { f.fees(200, "0.00001000", "0.00000100") }, nil, false, true},
		"below the least rate of relay": {func(f *fake) { f.fees(199, "0", "0.00001000") }, nil, false, false},
		"below the least rate, 1e-05":   {func(f *fake) { f.fees(199, "1e-05", "0.00000100") }, nil, false, false},
		"with a malformed least rate":   {func(f *fake) { f.fees(5000, "0.000000015", "0.00000100") }, nil, false, false},
		"while the mempool is loading": {func(f *fake) {
			f.set(func() { f.answers["getmempoolinfo"] = result(map[string]any{"loaded": false}) })
		}, nil, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, 1)
			n := f.source(func(c *node.Config) { c.BlocksAsJSON = tt.json })
			f.send(destination(9), 5000) // to an address that is not watched
			if tt.prepare != nil {
				tt.prepare(f)
			}
			var id string
			f.set(func() {
				tx := f.newPayment(destination(1), 1000)
				if tt.change != nil {
					tt.change(f, tx)
				}
				id = tx.TxHash().String()
				f.mempool, f.entered[id] = append(f.mempool, tx), f.clock.Now()
				if tt.json {
					f.answers["getrawtransaction"] = f.inJSON
				}
			})
			mustWait(t, n, watch)
			f.clock.Advance(time.Second)
			w := mustWait(t, n, watch) // complete from the second listing on
			wantIDs(t, w, id)
			if w.Firm[id] != tt.want || len(w.Firm) > 1 {
				t.Errorf("firm transactions: %v, want %t for %s", w.Firm, tt.want, id)
			}
		})
	}
}

// The fee of a transaction that left the mempool and returned is known, too, also if it left before the node was asked for it.
func TestWaiting_firm_needs_the_fee_of_a_transaction_that_returned(t *testing.T) {
	t.Parallel()
	watch := chaintest.Watch{destination(1): true}
	for name, leave := range map[string]func(f *fake, wait func()){
		"after it was read": func(f *fake, wait func()) {
			wait()
			pool := f.mempool
			f.set(func() { f.mempool = nil })
			wait()
			f.set(func() { f.mempool = pool })
		},
		"before its fee was read": func(f *fake, wait func()) {
			answer := f.answers["getmempoolentry"]
			f.set(func() {
				f.answers["getmempoolentry"] = func([]json.RawMessage) (any, int, string) { return nil, -5, "Transaction not in mempool" }
			})
			wait()
			f.set(func() { f.answers["getmempoolentry"] = answer })
		},
	} {
		f := newFake(t, 1)
		n := f.source()
		f.fees(199, "0", "0.00001000")
		wait := func() utxo.Waiting {
			f.clock.Advance(time.Second)
			return mustWait(t, n, watch)
		}
		wait()
		wait()
		id := f.send(destination(1), 1000)
		leave(f, func() {
			if w := wait(); len(w.Firm) > 0 {
				t.Errorf("%s: firm: %v before it returned", name, w.Firm)
			}
		})
		w := wait()
		wantIDs(t, w, id)
		if len(w.Firm) > 0 {
			t.Errorf("%s: firm: %v, want none below the least fee rate", name, w.Firm)
		}
	}
}

// inJSON answers getrawtransaction with JSON, as the source reads it for Litecoin.
func (f *fake) inJSON(params []json.RawMessage) (any, int, string) {
	for _, tx := range f.mempool {
		if fmt.Sprintf("%q", tx.TxHash()) != string(params[0]) {
			continue
		}
		in, out := []any{}, []any{}
		for _, i := range tx.TxIn {
			in = append(in, map[string]any{"txid": i.PreviousOutPoint.Hash.String(), "vout": i.PreviousOutPoint.Index, "sequence": i.Sequence})
		}
		for n, o := range tx.TxOut {
			out = append(out, map[string]any{"value": json.Number(fmt.Sprintf("0.%08d", o.Value)), "n": n, "scriptPubKey": map[string]any{"hex": fmt.Sprintf("%x", o.PkScript)}})
		}
		return map[string]any{"txid": tx.TxHash().String(), "version": tx.Version, "vin": in, "vout": out}, 0, ""
	}
	return nil, -5, "No such mempool transaction"
}

// A scan shows a transfer as firm once the transaction that it spends from is in a block. A transfer in a block is not shown as
// firm.
func TestScan_firm_after_the_input_is_confirmed(t *testing.T) {
	t.Parallel()
	f := newFake(t, 2)
	watch := chaintest.Watch{destination(1): true}
	n := f.source()
	network := bitcoin.Watch(bitcoin.New(bitcoin.Mainnet), n, f.clock.Now)
	if !network.Health().Mempool {
		t.Error("the health of a node does not report that it sees the mempool")
	}
	var parent, child *wire.MsgTx
	f.set(func() {
		parent = f.newPayment(destination(9), 5000)
		hash := parent.TxHash()
		child = f.newPayment(destination(1), 1000)
		child.TxIn[0].PreviousOutPoint = *wire.NewOutPoint(&hash, 0)
		f.mempool = []*wire.MsgTx{parent, child}
		for _, tx := range f.mempool {
			f.entered[tx.TxHash().String()] = f.clock.Now()
		}
	})
	scan := func(want bool) {
		t.Helper()
		f.clock.Advance(time.Second)
		s, err := network.Scan(t.Context(), chain.Cursor{}, watch)
		if err != nil || len(s.Transfers) != 1 {
			t.Fatalf("scan: %d transfers, error %v", len(s.Transfers), err)
		}
		if got := s.Transfers[0].Firm; got != want {
			t.Errorf("firm is %t, want %t, with %s coverage", got, want, s.Unconfirmed)
		}
	}
	scan(false)
	scan(false)
	f.set(func() { f.mempool = []*wire.MsgTx{parent} })
	f.mine()
	f.set(func() { f.mempool = []*wire.MsgTx{child} })
	scan(true)
	f.mine()
	scan(false)
}
