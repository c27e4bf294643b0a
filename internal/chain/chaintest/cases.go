package chaintest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/money"
)

// UTXOHarness is a Harness of a UTXO network.
type UTXOHarness interface {
	Harness
	// Conflict makes a double spend of a waiting transaction. Mine can put it into a block
	// before a scan sees it in the mempool.
	Conflict(t testing.TB, tx string, outputs ...Output) (conflict string)
	// Spend puts a transaction into the mempool that spends an output of one of the harness's
	// scripts, "txid:vout".
	Spend(t testing.TB, outpoint string, outputs ...Output) (tx string)
}

// utxo returns the harness as UTXOHarness, or skips the test.
func (f *fixture) utxo(t *testing.T) UTXOHarness {
	t.Helper()
	coins, ok := f.Harness.(UTXOHarness)
	if !ok {
		t.Skip("network has no UTXOs")
	}
	return coins
}

func reorganisedDeep(t *testing.T, f *fixture) {
	firstScript, secondScript := f.script(t), f.script(t)
	first := f.Send(t, Output{firstScript, f.amount("0.5")})
	f.Mine(t, first)
	second := f.Send(t, Output{secondScript, f.amount("0.25")})
	f.Mine(t, second)
	for range 4 { // so that the reorganisation replaces six blocks
		f.Mine(t)
	}
	before := f.want(t, shown{first, firstScript, "0.5", true}, shown{second, secondScript, "0.25", true})
	f.from = before.Next
	f.Reorganise(t, first, second)
	after := f.want(t, shown{first, firstScript, "0.5", false}, shown{second, secondScript, "0.25", false})
	for height := after.From.Height + 1; height <= before.Tip.Height; height++ {
		unchanged, wantUnchanged := after.Blocks[height] == before.Blocks[height], height <= before.Tip.Height-6
		if before.Blocks[height] != "" && unchanged != wantUnchanged {
			t.Errorf("block %d of the old chain is in the new one: %t, want %t", height, unchanged, wantUnchanged)
		}
	}
	f.from = after.Next
	f.Mine(t, second)
	f.Mine(t, first)
	f.want(t, shown{first, firstScript, "0.5", true}, shown{second, secondScript, "0.25", true})
}

func hiddenDoubleSpend(t *testing.T, f *fixture) {
	coins, script, other := f.utxo(t), f.script(t), f.script(t)
	tx := f.Send(t, Output{script, f.amount("0.5")})
	honest := f.Send(t, Output{other, f.amount("0.1")})
	f.want(t, shown{tx, script, "0.5", false}, shown{honest, other, "0.1", false})
	f.Mine(t, coins.Conflict(t, tx, Output{f.NewScript(t), f.amount("0.4")}))
	f.want(t, shown{honest, other, "0.1", false})
	conflict := coins.Conflict(t, honest, Output{other, f.amount("0.05")})
	f.Mine(t, conflict)
	f.want(t, shown{conflict, other, "0.05", true})
}

func spentOutput(t *testing.T, f *fixture) {
	coins, script := f.utxo(t), f.script(t)
	tx := f.Send(t, Output{script, f.amount("0.5")})
	f.Mine(t, tx)
	before := f.want(t, shown{tx, script, "0.5", true})
	spend := coins.Spend(t, before.Transfers[0].ID, Output{f.NewScript(t), f.amount("0.4")})
	f.want(t, shown{tx, script, "0.5", true})
	f.Mine(t, spend)
	after := f.want(t, shown{tx, script, "0.5", true})
	if diff := cmp.Diff(before.Transfers[0].Block, after.Transfers[0].Block); diff != "" {
		t.Errorf("block of the transfer (-before +after):\n%s", diff)
	}
}

// dust pays the smallest amounts only in a block, because nodes do not relay them.
func dust(t *testing.T, f *fixture) {
	coins, script := f.utxo(t), f.script(t)
	unit := money.FromCents(1, f.Asset().Currency)
	tx := f.Send(t, Output{script, f.Asset().Dust}, Output{script, f.amount("0.5")})
	f.want(t, shown{tx, script, f.Asset().Dust.String(), false}, shown{tx, script, "0.5", false})
	tx = coins.Conflict(t, tx, Output{f.NewScript(t), f.amount("0")}, Output{script, f.amount("0")}, Output{script, unit}, Output{script, f.amount("0.5")})
	f.Mine(t, tx)
	f.want(t, shown{tx, script, unit.String(), true}, shown{tx, script, "0.5", true})
}

func sameBlock(t *testing.T, f *fixture) {
	script := f.script(t)
	tx := f.Send(t, Output{script, f.amount("0.5")})
	f.Mine(t, tx)
	first := f.want(t, shown{tx, script, "0.5", true})
	f.Mine(t)
	second := f.want(t, shown{tx, script, "0.5", true})
	if diff := cmp.Diff(first.Transfers, second.Transfers); diff != "" {
		t.Errorf("transfers of a block in two scans (-first +second):\n%s", diff)
	}
}

func reusedScript(t *testing.T, f *fixture) {
	script := f.script(t)
	f.Mine(t, f.Send(t, Output{script, f.amount("0.5")}))
	f.from = f.scan(t).Tip.Cursor()
	f.want(t)
	tx := f.Send(t, Output{script, f.amount("0.1")})
	f.Mine(t, tx)
	f.want(t, shown{tx, script, "0.1", true})
}

func laterDestination(t *testing.T, f *fixture) {
	early := f.script(t)
	later, latest := f.NewScript(t), f.NewScript(t)
	mined := f.Send(t, Output{later, f.amount("0.5")}, Output{early, f.amount("0.1")})
	f.Mine(t, mined)
	f.Mine(t)
	waits := f.Send(t, Output{latest, f.amount("0.25")})
	s := f.want(t, shown{mined, early, "0.1", true})
	f.from = s.Next
	f.watch[later] = true
	f.want(t, shown{mined, early, "0.1", true}, shown{mined, later, "0.5", true})
	f.watch[latest] = true
	f.want(t, shown{mined, early, "0.1", true}, shown{mined, later, "0.5", true}, shown{waits, latest, "0.25", false})
}

func changesDuringDowntime(t *testing.T, f *fixture) {
	bumped, returned, stolen := f.script(t), f.script(t), f.script(t)
	original := f.Send(t, Output{bumped, f.amount("0.1")})
	reorganised := f.Send(t, Output{returned, f.amount("0.2")})
	f.Mine(t, reorganised)
	doubleSpent := f.Send(t, Output{stolen, f.amount("0.3")})
	f.from = f.want(t, shown{original, bumped, "0.1", false}, shown{reorganised, returned, "0.2", true}, shown{doubleSpent, stolen, "0.3", false}).Next
	// No scan happens in the meantime.
	replacement := f.Replace(t, original, Output{bumped, f.amount("0.1")})
	f.Reorganise(t, reorganised)
	f.Mine(t, replacement)
	f.Mine(t, f.Replace(t, doubleSpent, Output{f.NewScript(t), f.amount("0.3")}))
	f.Mine(t)
	f.want(t, shown{replacement, bumped, "0.1", true}, shown{reorganised, returned, "0.2", false})
}
