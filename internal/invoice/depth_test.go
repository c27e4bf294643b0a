package invoice_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/chain/simnet"
	"chequer/internal/invoice"
)

// TestDepth_is_computed_over_the_whole_snapshot observes invoices of random amounts and merchants, paid in
// random transactions and blocks, in several scans. It compares the required depth of each payment with
// the depth for the sum of the values in its transaction and in its block that are not final.
func TestDepth_is_computed_over_the_whole_snapshot(t *testing.T) {
	t.Parallel()
	for seed := range rounds(10, 40) {
		random := rand.New(rand.NewPCG(seed, 2))
		service, store := inMemory(t)
		maker := &shop{t: t, wallets: testWallets(t)}
		var transfers []chain.Transfer
		euros := map[string]int64{} // by merchant and transaction, or block
		keysByInvoice, euroByInvoice := map[string][2]string{}, map[string]int64{}
		for i := range 1 + random.IntN(100) {
			r := maker.request(fmt.Sprint(10+random.IntN(90)*random.IntN(90)), "BTC")
			r.MerchantID = fmt.Sprint("m", random.IntN(2))
			inv, err := service.Create(t.Context(), r)
			maker.must(err)
			n := random.IntN(6)
			tx := fmt.Sprint("tx", n)
			block := &chain.Block{Height: int64(105 + n/3), Hash: fmt.Sprint("b", n/3), Time: noon.Add(time.Minute)}
			transfers = append(transfers, chain.Transfer{
				ID: fmt.Sprintf("%s:%d", tx, i), Tx: tx, Asset: "BTC", Script: inv.Methods[0].Destination.Script,
				Amount: inv.Quote().Prices[0].Expected, Spends: []string{"in-" + tx}, Block: block,
			})
			keys := [2]string{r.MerchantID + tx, r.MerchantID + block.Hash}
			euroByInvoice[inv.ID] = inv.Terms.Price.Cents() / 100
			keysByInvoice[inv.ID] = keys
			for _, k := range keys {
				euros[k] += euroByInvoice[inv.ID]
			}
		}
		snapshot := chain.Snapshot{
			Started: noon.Add(2 * time.Minute), Unconfirmed: chain.Complete, From: chain.Cursor{Height: 90, Hash: "b90"},
			Tip: chain.Block{Height: 106, Hash: "b1"}, Transfers: transfers,
		}
		for sequence := range int64(3) { // repeated scans require the same depth
			lease := invoice.Lease{Network: simnet.ID, Epoch: 1, Sequence: sequence + 1}
			maker.must(service.Observe(t.Context(), lease, snapshot, invoice.Progress{Scanned: snapshot.Started}, store.Owner))
			for id, keys := range keysByInvoice {
				inv, err := store.Invoice(t.Context(), id)
				maker.must(err)
				maximum := max(euroByInvoice[id], euros[keys[0]], euros[keys[1]])
				if got, want := inv.Transfers[0].Required, plainDepth(maximum); got != want {
					t.Fatalf("seed %d: %d confirmations are required for %d EUR that are not final, want %d", seed, got, maximum, want)
				}
			}
		}
	}
}

// plainDepth returns the number of confirmations that a value in whole euro needs by the policy of Bitcoin.
func plainDepth(euros int64) int {
	switch {
	case euros < 500:
		return 1
	case euros < 5_000:
		return 2
	case euros < 50_000:
		return 6
	}
	return 12
}

// The depth of a paid invoice is not raised when another transfer appears in its block.
func TestDepth_is_not_raised_once_paid(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	first := s.create("400", "BTC")
	s.clock.Advance(time.Minute)
	s.mine(s.pay(first, "BTC", "0.005"))
	paid := s.wantStatus(first, invoice.Paid)
	tip, err := s.store.SimnetTip(t.Context())
	s.must(err)
	second := s.create("400", "BTC")
	s.must(s.store.UpdateSimnet(t.Context(), tip-1, func(c *simnet.Chain) error {
		m := second.Methods[0] // in the same block, as after a reorganisation
		c.Txs = append(c.Txs, simnet.Tx{
			ID: "beside", Height: tip, Seen: s.clock.Now(), Spends: []string{"other:0"},
			Outputs: []simnet.Output{simnet.OutputTo(m.Asset, m.Destination.Script, second.Quote().Prices[0].Expected)},
		})
		return nil
	}))
	s.step()
	if diff := cmp.Diff(paid.Transfers, s.reload(first).Transfers); diff != "" {
		t.Errorf("transfers of the paid invoice (-before +after):\n%s", diff)
	}
	if got := s.reload(first).State.Status; got != invoice.Paid {
		t.Errorf("the paid invoice is %s, want %s", got, invoice.Paid)
	}
}
