package invoice_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/money"
)

// ether is the native coin of the network of the tokens: 100.00 EUR are 0.04 ETH.
var ether = chain.Asset{
	Code: "ETH", Network: "base", Currency: money.ETH, Dust: money.Zero(money.ETH),
	Policy: chain.Policy{
		BlockGrace: 3 * time.Minute, Depth: []chain.Depth{{Confirmations: 1}}, Balance: true, Gas: money.MustParse("0.002", money.ETH),
	},
}

// newInvoiceWithEther returns the invoice of newInvoice, which can also be paid with ether.
func newInvoiceWithEther(t testing.TB, scanned time.Time) *invoice.Invoice {
	t.Helper()
	inv := newInvoice(t, scanned)
	inv.Methods = append(inv.Methods, invoice.Method{
		Asset: ether, Destination: chain.Destination{Address: "0x1", Script: "0x1"}, Birth: chain.Cursor{Height: 100, Hash: "b100"},
	})
	eth := rate(t, "2500", money.ETH, money.EUR)
	inv.Quotes[0].Prices = append(inv.Quotes[0].Prices, invoice.Price{Asset: "ETH", Expected: eth.Convert(fiat("100")), EUR: eth, USD: eth})
	return inv
}

// rise returns a rise of the balance in ether from one value to another.
func rise(from, to string, height int64, after time.Duration) chain.Transfer {
	low, high := money.MustParse(from, money.ETH), money.MustParse(to, money.ETH)
	return inBlock(chain.Transfer{
		ID: chain.RiseID(8453, "0x1", high.Minor()), Asset: "ETH", Script: "0x1",
		Amount: money.FromMinor(new(big.Int).Sub(high.Minor(), low.Minor()), money.ETH),
	}, height, after)
}

// euros returns a payment with the token.
func euros(id, amount string, height int64, after time.Duration) chain.Transfer {
	return inBlock(chain.Transfer{ID: id + ":1", Tx: id, Asset: "EURC", Script: "0x1", Amount: money.MustParse(amount, eurc)}, height, after)
}

// onBase lets the invoice observe transfers on the network of the tokens.
func onBase(inv *invoice.Invoice, tip int64, transfers ...chain.Transfer) {
	s := chain.Snapshot{From: chain.Cursor{Height: 90, Hash: "b90"}, Tip: chain.Block{Height: tip}, Unconfirmed: chain.None, Transfers: transfers}
	required := map[string]int{}
	for _, t := range transfers {
		required[t.ID] = 1
	}
	inv.Observe(invoice.Observation{Network: "base", Snapshot: s, Transfers: transfers, Required: required})
	inv.State = inv.Evaluate()
}

func TestBalances(t *testing.T) {
	t.Parallel()
	since := func(t chain.Transfer, after time.Duration) chain.Transfer {
		t.Since = noon.Add(after)
		return t
	}
	unsure := func(t chain.Transfer) chain.Transfer {
		t.Unsure = true
		return t
	}
	for name, test := range map[string]struct {
		transfers []chain.Transfer
		want      outcome
	}{
		"an honest shopper pays in two parts": {
			[]chain.Transfer{rise("0", "0.01", 101, time.Minute), rise("0.01", "0.04", 102, 2*time.Minute)},
			outcome{invoice.Paid, "", "100", "0", "0"},
		},
		"an honest shopper paid during downtime and the old state is no longer served": {
			[]chain.Transfer{since(rise("0", "0.04", 900, 5*time.Hour), 10*time.Minute)},
			outcome{invoice.Paid, "", "100", "0", "0"},
		},
		"an honest shopper paid after a reading older than the invoice": {
			[]chain.Transfer{since(rise("0", "0.04", 900, 5*time.Hour), -time.Hour)},
			outcome{invoice.Paid, "", "100", "0", "0"},
		},
		"a late payment is first seen in its block": {
			[]chain.Transfer{rise("0", "0.04", 900, 19*time.Minute)},
			outcome{invoice.Expired, "[late]", "0", "100", "0"},
		},
		"money that was there before the invoice does not count": {
			[]chain.Transfer{rise("0", "0.04", 100, -time.Minute)},
			outcome{invoice.Expired, "[old]", "0", "100", "0"},
		},
		"a payment on top of older money counts": {
			[]chain.Transfer{rise("0", "0.04", 100, -time.Minute), rise("0.04", "0.08", 101, time.Minute)},
			outcome{invoice.Paid, "[old]", "100", "0", "0"},
		},
		"money that may be older than the invoice does not count": {
			[]chain.Transfer{unsure(rise("0", "0.04", 101, time.Minute))},
			outcome{invoice.Expired, "[late]", "0", "100", "0"},
		},
		"gas that the merchant sends for a sweep is ignored": {
			[]chain.Transfer{euros("a", "100", 101, time.Minute), rise("0", "0.002", 500, 3*time.Hour)},
			outcome{invoice.Paid, "", "100", "0", "0"},
		},
		"gas that the merchant sends before the invoice expires is ignored": {
			[]chain.Transfer{euros("a", "100", 101, time.Minute), rise("0", "0.001", 102, 2*time.Minute), rise("0.001", "0.003", 103, 3*time.Minute)},
			outcome{invoice.Paid, "", "100", "0", "0"},
		},
		"a second full payment is not gas": {
			[]chain.Transfer{rise("0", "0.04", 101, time.Minute), rise("0.04", "0.08", 102, 2*time.Minute)},
			outcome{invoice.Paid, "[overpaid]", "100", "0", "100"},
		},
		"a small payment before the remainder counts": {
			[]chain.Transfer{rise("0", "0.002", 101, time.Minute), euros("a", "95", 102, 2*time.Minute)},
			outcome{invoice.Paid, "", "100", "0", "0"},
		},
		"a small payment alone counts": {
			[]chain.Transfer{rise("0", "0.002", 101, time.Minute)},
			outcome{invoice.Expired, "[underpaid]", "5", "95", "0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inv := newInvoiceWithEther(t, quoteEnd.Add(time.Second))
			onBase(inv, 1000, test.transfers...)
			if diff := cmp.Diff(test.want, outcomeOf(inv)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			reordered := newInvoiceWithEther(t, quoteEnd.Add(time.Second)) // in another order, and twice
			for _, i := range rand.Perm(len(test.transfers)) {
				onBase(reordered, 1000, append(slices.Clone(test.transfers[i:]), test.transfers[:i]...)...)
			}
			if diff := cmp.Diff(outcomeOf(inv), outcomeOf(reordered)); diff != "" {
				t.Errorf("in another order (-want +got):\n%s", diff)
			}
		})
	}
}

// Ether sent to an invoice that offers only tokens is a wrong asset, unless it is gas that the
// merchant sends for a sweep.
func TestBalances_of_an_asset_that_is_not_offered_are_wrong_assets_or_gas(t *testing.T) {
	t.Parallel()
	gas := map[chain.ID]money.Amount{"base": money.MustParse("0.002", money.ETH)}
	for name, test := range map[string]struct {
		gas       map[chain.ID]money.Amount
		transfers []chain.Transfer
		want      outcome
		state     invoice.PaymentState // of the ether
	}{
		"ether is a wrong asset":                  {gas, []chain.Transfer{rise("0", "0.04", 101, time.Minute)}, outcome{invoice.Expired, "[wrong_asset]", "0", "100", "0"}, invoice.PaymentWrongAsset},
		"a little ether is a wrong asset":         {gas, []chain.Transfer{rise("0", "0.001", 101, time.Minute)}, outcome{invoice.Expired, "[wrong_asset]", "0", "100", "0"}, invoice.PaymentWrongAsset},
		"a token payment after ether counts":      {gas, []chain.Transfer{rise("0", "0.001", 101, time.Minute), euros("a", "100", 102, 2*time.Minute)}, outcome{invoice.Paid, "[wrong_asset]", "100", "0", "0"}, invoice.PaymentWrongAsset},
		"gas after the payment is dust":           {gas, []chain.Transfer{euros("a", "100", 101, time.Minute), rise("0", "0.002", 500, 3*time.Hour)}, outcome{invoice.Paid, "", "100", "0", "0"}, invoice.PaymentDust},
		"more than the allowance is not gas":      {gas, []chain.Transfer{euros("a", "100", 101, time.Minute), rise("0", "0.0021", 500, 3*time.Hour)}, outcome{invoice.Paid, "[wrong_asset]", "100", "0", "0"}, invoice.PaymentWrongAsset},
		"without an allowance nothing is gas":     {map[chain.ID]money.Amount{}, []chain.Transfer{euros("a", "100", 101, time.Minute), rise("0", "0.001", 500, 3*time.Hour)}, outcome{invoice.Paid, "[wrong_asset]", "100", "0", "0"}, invoice.PaymentWrongAsset},
		"an older invoice has no limit on gas":    {nil, []chain.Transfer{euros("a", "100", 101, time.Minute), rise("0", "0.03", 500, 3*time.Hour)}, outcome{invoice.Paid, "", "100", "0", "0"}, invoice.PaymentDust},
		"ether older than the invoice is not gas": {gas, []chain.Transfer{rise("0", "0.04", 100, -time.Minute)}, outcome{invoice.Expired, "[old]", "0", "100", "0"}, invoice.PaymentWrongAsset},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inv := newInvoice(t, quoteEnd.Add(time.Second))
			inv.Terms.Rules.Gas = test.gas
			onBase(inv, 1000, test.transfers...)
			if diff := cmp.Diff(test.want, outcomeOf(inv)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, p := range inv.Payments() {
				if p.IsRise() && p.State != test.state {
					t.Errorf("the ether is %s, want %s", p.State, test.state)
				}
			}
		})
	}
}

// After a reorganisation the same money may arrive in other steps. A rise that is recorded at the
// same height is then replaced by the new one.
func TestBalances_that_rise_again_in_other_steps(t *testing.T) {
	t.Parallel()
	inv := newInvoiceWithEther(t, noon)
	onBase(inv, 102, rise("0", "0.01", 101, time.Minute), rise("0.01", "0.03", 102, 2*time.Minute))
	onBase(inv, 104, rise("0", "0.02", 103, 3*time.Minute), rise("0.02", "0.03", 104, 4*time.Minute))
	want := outcome{invoice.Pending, "[underpaid reorged]", "75", "25", "0"}
	if diff := cmp.Diff(want, outcomeOf(inv)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An accepted transfer pays the invoice, and gas that arrives after it raises no exception.
func TestBalances_that_the_merchant_accepts(t *testing.T) {
	t.Parallel()
	inv := newInvoiceWithEther(t, quoteEnd.Add(time.Hour))
	paid := rise("0", "0.04", 101, time.Minute)
	paid.Unsure = true
	onBase(inv, 1000, paid)
	inv.Accepted = []string{paid.ID}
	onBase(inv, 1000, paid, rise("0.04", "0.042", 500, time.Hour))
	want := outcome{invoice.Paid, "", "100", "0", "0"}
	if diff := cmp.Diff(want, outcomeOf(inv)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := fmt.Sprint(inv.Payments()[0].State, " ", inv.Payments()[1].State); got != "confirmed dust" {
		t.Errorf("payments are %s, want confirmed dust", got)
	}
}
