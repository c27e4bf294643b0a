package chaintest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/money"
)

// BridgedHarness is a Harness of a network with bridged tokens. It pays with one of them.
type BridgedHarness interface {
	Harness
	// Bridged is the bridged token.
	Bridged() chain.Asset
	// SendBridged is Send in the bridged token, to one script.
	SendBridged(t testing.TB, output Output) (tx string)
}

// bridgedToken pays one script in both tokens.
func bridgedToken(t *testing.T, f *fixture) {
	network, hasBridged := f.Network().(chain.Bridged)
	harness, ok := f.Harness.(BridgedHarness)
	if !ok {
		if hasBridged && len(network.Bridged()) > 0 {
			t.Fatal("the network knows bridged tokens, but the harness pays with none")
		}
		t.Skip("the network knows no bridged tokens")
	}
	bridged, script := harness.Bridged(), f.script(t)
	right := f.Send(t, Output{script, f.amount("0.5")})
	wrong := harness.SendBridged(t, Output{script, money.MustParse("0.25", bridged.Currency)})
	f.Mine(t, right, wrong)
	s := f.want(t, shown{right, script, "0.5", true}, shown{wrong, script, "0.25", true})
	got := map[string]string{}
	for _, transfer := range s.Transfers {
		got[transfer.Tx] = transfer.Asset + " in " + transfer.Amount.Currency().Code
	}
	want := map[string]string{
		right: f.Asset().Code + " in " + f.Asset().Currency.Code,
		wrong: bridged.Code + " in " + bridged.Code,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("assets (-want +got):\n%s", diff)
	}
	for _, a := range f.Network().Assets() {
		if a.Code == bridged.Code || a.Contract == bridged.Contract {
			t.Errorf("%s is offered", a.Code)
		}
	}
	f.from = s.Next
	f.Reorganise(t, right, wrong)
	f.want(t, shown{right, script, "0.5", false}, shown{wrong, script, "0.25", false})
}
