package chaintest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/money"
)

// Coins is a Lab of a UTXO network.
type Coins interface {
	Lab
	// Conflict makes a double spend of a waiting transaction. Mine can put it into a block
	// before a scan sees it in the mempool.
	Conflict(t *testing.T, tx string, outputs ...Output) (conflict string)
	// Spend puts a transaction into the mempool that spends an output of one of the lab's
	// scripts, "txid:vout".
	Spend(t *testing.T, outpoint string, outputs ...Output) (tx string)
}

// coins returns the lab as Coins, or skips the test.
func (b *bench) coins(t *testing.T) Coins {
	t.Helper()
	coins, ok := b.Lab.(Coins)
	if !ok {
		t.Skip("network has no UTXOs")
	}
	return coins
}

func reorganisedDeep(t *testing.T, b *bench) {
	firstScript, secondScript := b.script(t), b.script(t)
	first := b.Send(t, Output{firstScript, b.amount("0.5")})
	b.Mine(t, first)
	second := b.Send(t, Output{secondScript, b.amount("0.25")})
	b.Mine(t, second)
	for range 4 {
		b.Mine(t)
	}
	before := b.want(t, shown{first, firstScript, "0.5", true}, shown{second, secondScript, "0.25", true})
	b.from = before.Next
	b.Reorganise(t, first, second)
	after := b.want(t, shown{first, firstScript, "0.5", false}, shown{second, secondScript, "0.25", false})
	for height := after.From.Height + 1; height <= before.Tip.Height; height++ {
		unchanged, wantUnchanged := after.Blocks[height] == before.Blocks[height], height <= before.Tip.Height-6
		if before.Blocks[height] != "" && unchanged != wantUnchanged {
			t.Errorf("block %d of the old chain is in the new one: %t, want %t", height, unchanged, wantUnchanged)
		}
	}
	b.from = after.Next
	b.Mine(t, second)
	b.Mine(t, first)
	b.want(t, shown{first, firstScript, "0.5", true}, shown{second, secondScript, "0.25", true})
}

func hiddenDoubleSpend(t *testing.T, b *bench) {
	coins, script, other := b.coins(t), b.script(t), b.script(t)
	tx := b.Send(t, Output{script, b.amount("0.5")})
	honest := b.Send(t, Output{other, b.amount("0.1")})
	b.want(t, shown{tx, script, "0.5", false}, shown{honest, other, "0.1", false})
	b.Mine(t, coins.Conflict(t, tx, Output{b.NewScript(t), b.amount("0.4")}))
	b.want(t, shown{honest, other, "0.1", false})
	conflict := coins.Conflict(t, honest, Output{other, b.amount("0.05")})
	b.Mine(t, conflict)
	b.want(t, shown{conflict, other, "0.05", true})
}

func spent(t *testing.T, b *bench) {
	coins, script := b.coins(t), b.script(t)
	tx := b.Send(t, Output{script, b.amount("0.5")})
	b.Mine(t, tx)
	before := b.want(t, shown{tx, script, "0.5", true})
	spend := coins.Spend(t, before.Transfers[0].ID, Output{b.NewScript(t), b.amount("0.4")})
	b.want(t, shown{tx, script, "0.5", true})
	b.Mine(t, spend)
	after := b.want(t, shown{tx, script, "0.5", true})
	if diff := cmp.Diff(before.Transfers[0].Block, after.Transfers[0].Block); diff != "" {
		t.Errorf("its block (-before +after):\n%s", diff)
	}
}

// dust pays the smallest amounts only in a block, because nodes do not relay them.
func dust(t *testing.T, b *bench) {
	coins, script := b.coins(t), b.script(t)
	unit := money.FromCents(1, b.Asset().Currency)
	tx := b.Send(t, Output{script, b.Asset().Dust}, Output{script, b.amount("0.5")})
	b.want(t, shown{tx, script, b.Asset().Dust.String(), false}, shown{tx, script, "0.5", false})
	tx = coins.Conflict(t, tx, Output{b.NewScript(t), b.amount("0")}, Output{script, b.amount("0")}, Output{script, unit}, Output{script, b.amount("0.5")})
	b.Mine(t, tx)
	b.want(t, shown{tx, script, unit.String(), true}, shown{tx, script, "0.5", true})
}

func sameBlock(t *testing.T, b *bench) {
	script := b.script(t)
	tx := b.Send(t, Output{script, b.amount("0.5")})
	b.Mine(t, tx)
	first := b.want(t, shown{tx, script, "0.5", true})
	b.Mine(t)
	second := b.want(t, shown{tx, script, "0.5", true})
	if diff := cmp.Diff(first.Transfers, second.Transfers); diff != "" {
		t.Errorf("transfers of a block in two scans (-first +second):\n%s", diff)
	}
}

func reusedScript(t *testing.T, b *bench) {
	script := b.script(t)
	b.Mine(t, b.Send(t, Output{script, b.amount("0.5")}))
	b.from = b.scan(t).Tip.Cursor()
	b.want(t)
	tx := b.Send(t, Output{script, b.amount("0.1")})
	b.Mine(t, tx)
	b.want(t, shown{tx, script, "0.1", true})
}

func laterDestination(t *testing.T, b *bench) {
	early := b.script(t)
	later, latest := b.NewScript(t), b.NewScript(t)
	mined := b.Send(t, Output{later, b.amount("0.5")}, Output{early, b.amount("0.1")})
	b.Mine(t, mined)
	b.Mine(t)
	waits := b.Send(t, Output{latest, b.amount("0.25")})
	s := b.want(t, shown{mined, early, "0.1", true})
	b.from = s.Next
	b.watch[later] = true
	b.want(t, shown{mined, early, "0.1", true}, shown{mined, later, "0.5", true})
	b.watch[latest] = true
	b.want(t, shown{mined, early, "0.1", true}, shown{mined, later, "0.5", true}, shown{waits, latest, "0.25", false})
}

func down(t *testing.T, b *bench) {
	bumped, returned, stolen := b.script(t), b.script(t), b.script(t)
	original := b.Send(t, Output{bumped, b.amount("0.1")})
	reorganised := b.Send(t, Output{returned, b.amount("0.2")})
	b.Mine(t, reorganised)
	doubleSpent := b.Send(t, Output{stolen, b.amount("0.3")})
	b.from = b.want(t, shown{original, bumped, "0.1", false}, shown{reorganised, returned, "0.2", true}, shown{doubleSpent, stolen, "0.3", false}).Next
	// No scan happens in the meantime.
	replacement := b.Replace(t, original, Output{bumped, b.amount("0.1")})
	b.Reorganise(t, reorganised)
	b.Mine(t, replacement)
	b.Mine(t, b.Replace(t, doubleSpent, Output{b.NewScript(t), b.amount("0.3")}))
	b.Mine(t)
	b.want(t, shown{replacement, bumped, "0.1", true}, shown{reorganised, returned, "0.2", false})
}
