package chaintest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/money"
)

// BridgedLab is a Lab of a network that knows bridged tokens, and pays with one.
type BridgedLab interface {
	Lab
	// Bridged is the bridged token.
	Bridged() chain.Asset
	// SendBridged is Send in the bridged token, to one script.
	SendBridged(t *testing.T, output Output) (tx string)
}

// bridgedToken pays one script in both tokens.
func bridgedToken(t *testing.T, b *bench) {
	network, hasBridged := b.Network().(chain.Bridged)
	lab, ok := b.Lab.(BridgedLab)
	if !ok {
		if hasBridged && len(network.Bridged()) > 0 {
			t.Fatal("the network knows bridged tokens, and the lab pays with none")
		}
		t.Skip("the network knows no bridged tokens")
	}
	bridged, script := lab.Bridged(), b.script(t)
	right := b.Send(t, Output{script, b.amount("0.5")})
	wrong := lab.SendBridged(t, Output{script, money.MustParse("0.25", bridged.Currency)})
	b.Mine(t, right, wrong)
	s := b.want(t, shown{right, script, "0.5", true}, shown{wrong, script, "0.25", true})
	got := map[string]string{}
	for _, transfer := range s.Transfers {
		got[transfer.Tx] = transfer.Asset + " in " + transfer.Amount.Currency().Code
	}
	want := map[string]string{
		right: b.Asset().Code + " in " + b.Asset().Currency.Code,
		wrong: bridged.Code + " in " + bridged.Code,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("assets (-want +got):\n%s", diff)
	}
	for _, a := range b.Network().Assets() {
		if a.Code == bridged.Code || a.Contract == bridged.Contract {
			t.Errorf("%s is offered", a.Code)
		}
	}
	b.from = s.Next
	b.Reorganise(t, right, wrong)
	b.want(t, shown{right, script, "0.5", false}, shown{wrong, script, "0.25", false})
}
