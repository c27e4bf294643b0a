package node_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/wire"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"chequer/internal/chain"
	"chequer/internal/chain/bitcoin"
	"chequer/internal/chain/bitcoin/node"
	"chequer/internal/chain/chaintest"
	"chequer/internal/chain/utxo"
)

func TestBlock_is_the_same_in_either_format(t *testing.T) {
	t.Parallel()
	f := newFake(t, 2)
	for i := range 4 {
		f.send(destination(i), int64(1000+i))
	}
	f.mine()
	message := f.best[3]
	want, err := bitcoin.NewBlock(3, message)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		getblock answer
		json     bool
	}{
		"in the wire format": {nil, false},
		"in JSON":            {result(asJSON(message)), true},
		"in JSON if the wire format cannot be parsed": {func(params []json.RawMessage) (any, int, string) {
			if string(params[1]) == "0" {
				return encode(message)[:400], 0, ""
			}
			return asJSON(message), 0, ""
		}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f.answers["getblock"] = test.getblock
			got, err := f.source(func(c *node.Config) { c.BlocksAsJSON = test.json }).Block(t.Context(), message.BlockHash().String())
			if err != nil {
				t.Fatal(err)
			}
			// The transactions in JSON have inputs of MWEB, so that they count as replaceable.
			if diff := cmp.Diff(got, want, cmpopts.IgnoreFields(utxo.Tx{}, "Replaceable")); diff != "" {
				t.Errorf("Block() differs (-got +want):\n%s", diff)
			}
		})
	}
}

// asJSON formats a block like getblock does, with parts of MWEB in between.
func asJSON(b *wire.MsgBlock) json.RawMessage {
	var txs []string
	for i, tx := range b.Transactions {
		in := `{"coinbase":"00"}`
		if i > 0 {
			in = fmt.Sprintf(`{"ismweb":true,"output_id":"00"},{"ismweb":false,"txid":%q,"vout":%d}`,
				tx.TxIn[0].PreviousOutPoint.Hash, tx.TxIn[0].PreviousOutPoint.Index)
		}
		out := fmt.Sprintf(`{"ismweb":true,"output_id":"00"},{"value":%d.%08d,"n":0,"scriptPubKey":{"hex":"%X"}}`,
			tx.TxOut[0].Value/1e8, tx.TxOut[0].Value%1e8, tx.TxOut[0].PkScript)
		txs = append(txs, fmt.Sprintf(`{"txid":%q,"vin":[%s],"vout":[%s]}`, tx.TxHash(), in, out))
	}
	return json.RawMessage(`{"tx":[` + strings.Join(txs, ",") + `]}`)
}

func TestBlock_refuses_malformed_JSON(t *testing.T) {
	t.Parallel()
	f := newFake(t, 2)
	f.send(destination(1), 1000)
	f.mine()
	valid := string(asJSON(f.best[3]))
	if !json.Valid([]byte(valid)) || strings.Count(valid, "0.00001000") != 1 {
		t.Fatal(valid)
	}
	tests := map[string]struct{ text, want string }{
		"a part of a unit":    {strings.Replace(valid, "0.00001000", "0.000010001", 1), "is malformed"},
		"more than all coins": {strings.Replace(valid, "0.00001000", "99999999999", 1), "is malformed"},
		"a negative amount":   {strings.Replace(valid, "0.00001000", "-0.00001000", 1), "pays -1000 units in output 0"},
		"a huge exponent":     {strings.Replace(valid, "0.00001000", "1e999999999", 1), "is malformed"},
		"an amount in quotes": {strings.Replace(valid, "0.00001000", `"0.00001000x"`, 1), "unexpected result"},
		"no amount":           {strings.Replace(valid, `"value":0.00001000,`, "", 1), "is malformed"},
		"a script of letters": {strings.Replace(valid, destination(1)[:8], "xyxyxyxy", 1), "is malformed"},
		"another order":       {strings.Replace(valid, `"n":0`, `"n":7`, 1), "is malformed"},
		"no hash":             {strings.Replace(valid, `"txid":"`, `"txid":"x`, 1), "is not a hash"},
		"an input of no hash": {strings.Replace(valid, `"ismweb":false,"txid":"`, `"ismweb":false,"txid":"x`, 1), "is not a hash"},
		"other transactions":  {string(asJSON(f.best[2])), "transactions do not match the Merkle root"},
		"no transactions":     {`{"tx":[]}`, "transactions do not match the Merkle root"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.text == valid {
				t.Fatal("test changes nothing")
			}
			f.answers["getblock"] = result(json.RawMessage(test.text))
			n := f.source(func(c *node.Config) { c.BlocksAsJSON = true })
			block, err := n.Block(t.Context(), f.best[3].BlockHash().String())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Block() = %+v, %v, want %q", block, err, test.want)
			}
		})
	}
}

func TestMayPay_reports_blocks_that_may_pay(t *testing.T) {
	t.Parallel()
	f := newFake(t, 2)
	f.send(destination(1), 1000)
	f.send(destination(2), 1000)
	f.mine()
	n, hash := f.source(), f.best[3].BlockHash().String()
	checkMayPay := func(want bool, scripts ...string) {
		t.Helper()
		got, err := n.MayPay(t.Context(), hash, slices.Values(scripts))
		if err != nil || got != want {
			t.Errorf("MayPay(%q) = %t, %v, want %t", scripts, got, err, want)
		}
	}
	checkMayPay(true, destination(3)) // not read yet
	if _, err := n.Block(t.Context(), hash); err != nil {
		t.Fatal(err)
	}
	checkMayPay(true, destination(1))
	checkMayPay(true, destination(3), destination(2))
	checkMayPay(true, "51") // of the coinbase
	checkMayPay(false, destination(3), destination(4))
	checkMayPay(false)
	for range 200 {
		f.mine()
		if _, err := n.Block(t.Context(), f.best[len(f.best)-1].BlockHash().String()); err != nil {
			t.Fatal(err)
		}
	}
	checkMayPay(true, destination(3)) // not kept any more
}

func TestScan_reads_each_block_once(t *testing.T) {
	t.Parallel()
	f := newFake(t, 120)
	for i := range 5 {
		f.send(destination(i), 1000)
		f.mine()
	}
	scanner, watch := scannerOf(f.source(), f.clock.Now), chaintest.Watch{destination(1): true}
	cursor := mustScan(t, scanner, chain.Cursor{}, watch, "0.00001").Next
	delete(watch, destination(1))
	f.calls = map[string]int{}
	watch[destination(9)] = true
	mustScan(t, scanner, cursor, watch)
	if got := f.calls["getblock"]; got != 0 {
		t.Errorf("%d blocks read again for a destination that no block pays", got)
	}
	watch[destination(3)] = true
	mustScan(t, scanner, cursor, watch, "0.00001")
	if got := f.calls["getblock"]; got != 1 {
		t.Errorf("%d blocks read again for a destination that one block pays", got)
	}
}
