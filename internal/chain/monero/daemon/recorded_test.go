package daemon_test

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain/monero/daemon"
)

// recorded returns an answer of monerod 0.18.0, on a regression test network.
func recorded(t testing.TB, name string) json.RawMessage {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestClient_reads_recorded_answers(t *testing.T) {
	t.Parallel()
	const (
		hash  = "7202c713244eaffcdad62cbf5cf92b1dcbc25d0619001492d6f43efa006244e4"
		rival = "2a82a76491186cb6027ce4c3e4ab78fbdd8cfbdd0a69853b39b127c594f01536"
	)
	at := time.Unix(1796086604, 0).UTC()
	f := newFake(t)
	f.answers["get_block"] = recorded(t, "get_block")
	for _, name := range []string{"get_transactions", "get_transaction_pool"} {
		f.answers["/"+name] = recorded(t, name)
	}
	c := f.client()

	block, err := c.Block(t.Context(), 81)
	if err != nil {
		t.Fatal(err)
	}
	checkJSON(t, daemon.Tx{JSON: block.MinerTx})
	block.MinerTx = nil
	want := daemon.Block{
		Header: daemon.Header{
			Hash:     "4cd6c9450813c75e393e4a3e23f7271e919112ad1ad1d515538b8db641244882",
			PrevHash: "152f71a339867287c10319f16d15b627af61cc0aa990dcc50f880871e066ddd6",
			Height:   81, Time: at, MajorVersion: 16,
		},
		MinerTxHash: "c7351e96589d59523954698179e67e6aca198da1be606cc73553673960ec3d01", TxHashes: []string{hash},
	}
	if diff := cmp.Diff(block, want); diff != "" {
		t.Errorf("Block() differs (-got +want):\n%s", diff)
	}

	check := func(call string, txs []daemon.Tx, want daemon.Tx) {
		t.Helper()
		for i := range txs {
			checkJSON(t, txs[i])
			txs[i].JSON = nil
		}
		if diff := cmp.Diff(txs, []daemon.Tx{want}); diff != "" {
			t.Errorf("%s differs (-got +want):\n%s", call, diff)
		}
	}
	txs, err := c.Transactions(t.Context(), []string{hash, rival})
	if missed, _ := errors.AsType[*daemon.MissedError](err); missed == nil || !slices.Equal(missed.Hashes, []string{rival}) {
		t.Errorf("Transactions() = %v, want a MissedError about the rival", err)
	}
	check("Transactions()", txs, daemon.Tx{Hash: hash, Height: 81})
	txs, err = c.Pool(t.Context())
	if err != nil {
		t.Error(err)
	}
	check("Pool()", txs, daemon.Tx{Hash: hash, InPool: true, ReceivedAt: at, DoubleSpendSeen: true, Relayed: true})
}
