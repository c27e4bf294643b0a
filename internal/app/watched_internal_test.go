package app

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/chain/simnet"
	"chequer/internal/invoice"
	"chequer/internal/networks"
)

// plainNetwork is a network without a scanner.
type plainNetwork struct{ chain.Network }

func (plainNetwork) ID() chain.ID { return "off" }

func TestUnwatched_counts_open_invoices_by_network_and_asset(t *testing.T) {
	t.Parallel()
	scanned := networks.Network{Network: simnet.New(nil, time.Now)}
	if !scanned.Watched() {
		t.Fatal("the simnet has no scanner")
	}
	network := string(scanned.ID())
	method := func(network, asset string, balance, watched bool) invoice.Method {
		return invoice.Method{
			Asset:   chain.Asset{Network: chain.ID(network), Code: asset, Policy: chain.Policy{Balance: balance}},
			Watched: watched,
		}
	}
	for _, test := range []struct {
		name     string
		invoices [][]invoice.Method
		want     []string
	}{
		{"an asset of a watched network", [][]invoice.Method{{method(network, "BTC", false, true)}}, nil},
		{"two assets of an unwatched network count once", [][]invoice.Method{
			{method("off", "EURC", false, true), method("off", "USDC", false, true)},
			{method("off", "EURC", false, true)},
		}, []string{"off (2 open invoices)"}},
		{"an asset that was not watched at creation", [][]invoice.Method{{method("off", "EURC", false, false)}}, nil},
		{"a request at a connection that was removed", [][]invoice.Method{{{Asset: chain.LightningAsset(chain.LightningID("wlt_1")), Watched: true}}}, nil},
		{"a coin whose balances are not read", [][]invoice.Method{{method(network, "ETH", true, true)}}, []string{network + " in its native coin (1 open invoice)"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			u := newUnwatched([]networks.Network{scanned, {Network: plainNetwork{}}})
			for _, methods := range test.invoices {
				u.add(methods)
			}
			if diff := cmp.Diff(test.want, u.findings()); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}
