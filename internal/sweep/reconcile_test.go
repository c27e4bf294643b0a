package sweep

import (
	"context"
	"math/big"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/config"
	"chequer/internal/money"
	"chequer/internal/report"
	"chequer/internal/sweep/recorded"
)

// receivedSums is a shop that received some amounts, with its recorded sweep.
type receivedSums struct {
	*fakeStorage
	received report.Received
	sweep    recorded.Sweep
}

func (s receivedSums) Received(context.Context, string) (report.Received, error) {
	return s.received, nil
}

func (s receivedSums) RemovedBefore(context.Context, string) (before, at time.Time, err error) {
	return before, at, nil
}

func (s receivedSums) Sweeps(context.Context, string, int) ([]recorded.Sweep, error) {
	return []recorded.Sweep{s.sweep}, nil
}

// reconcile reconciles a deal whose addresses received amounts of EURC and ether, in smallest units.
func (d *deal) reconcile(t *testing.T, eurc, ether int64, s recorded.Sweep) map[string]Reconciled {
	t.Helper()
	c, err := config.Load([]string{"CHEQUER_BASE_RPC=one=" + d.RPC + ",two=" + d.RPC, "CHEQUER_EVM_ADDRESS_QUERIES=on"})
	if err != nil {
		t.Fatal(err)
	}
	sum := func(code string, units int64, decimals int32) report.ReceivedSum {
		return report.ReceivedSum{Asset: code, Amount: money.FromMinor(big.NewInt(units), money.Currency{Code: code, Decimals: decimals})}
	}
	storage := receivedSums{d.storage, report.Received{Complete: true, ByKey: map[string][]report.ReceivedSum{
		"one": {sum("EURC-BASE", eurc, 6), sum("ETH-BASE", ether, 18)},
	}}, s}
	list, err := Reconcile(t.Context(), storage, c, "shop", chain.ID("base"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	byAsset := map[string]Reconciled{}
	for _, r := range list {
		byAsset[r.Asset] = r
	}
	return byAsset
}

// What is received and not swept is at the addresses, after the fees that they paid. Other money there is a difference.
func TestReconcile_finds_differences(t *testing.T) {
	t.Parallel()
	s := newShop(t, 4)
	s.hold(t, eurcBase, s.addresses[0], 50_000_000)
	s.hold(t, eurcBase, s.addresses[1], 30_000_000)
	s.fund(t, s.addresses[2], 300)
	const ether = 300_000_000_000_000_000
	d := newDeal(t, s, request(), nil)
	before := d.reconcile(t, 80_000_000, ether, recorded.New("shop", d.plan))
	want := map[string]Reconciled{
		"EURC-BASE": {Asset: "EURC-BASE", Received: "80", Funded: "0", Swept: "0", Fees: "0", Expected: "80", Held: "80", Difference: "0"},
		"ETH-BASE":  {Asset: "ETH-BASE", Received: "0.3", Funded: "0", Swept: "0", Fees: "0", Expected: "0.3", Held: "0.3", Difference: "0"},
	}
	if diff := cmp.Diff(want, before); diff != "" {
		t.Errorf("before the sweep (-want +got):\n%s", diff)
	}

	d.mustSend(t)
	d.deepen(t)
	swept := d.settle(t)
	after := d.reconcile(t, 80_000_000, ether, swept)
	if r := after["EURC-BASE"]; r.Swept != "80" || r.Held != "0" || r.Difference != "0" {
		t.Errorf("EURC after the sweep: %+v", r)
	}
	if r := after["ETH-BASE"]; r.Fees == "0" || r.Expected != r.Held || r.Difference != "0" {
		t.Errorf("ether after the sweep: %+v", r)
	}

	d.hold(t, eurcBase, s.addresses[3], 7_000_000)
	if r := d.reconcile(t, 80_000_000, ether, swept)["EURC-BASE"]; r.Difference != "7" || r.Held != "7" {
		t.Errorf("a transfer that is not recorded: %+v", r)
	}
	if r := d.reconcile(t, 81_000_000, ether, swept)["EURC-BASE"]; r.Difference != "6" {
		t.Errorf("a payment that is not there any more: %+v", r)
	}
}
