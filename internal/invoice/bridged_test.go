package invoice_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"chequer/internal/chain"
	"chequer/internal/chain/ethereum"
	"chequer/internal/invoice"
	"chequer/internal/money"
)

// addTransfer adds a transfer of an asset to a network, in a new block. The transfer pays an invoice.
func (r *reachable) addTransfer(n *evm, inv *invoice.Invoice, id string, asset chain.Asset, amount string) {
	r.t.Helper()
	n.blocksAbove++
	n.transfers = append(n.transfers, chain.Transfer{
		ID: id + ":0", Tx: id, Asset: asset.Code, Script: inv.Methods[0].Destination.Script, Amount: money.MustParse(amount, asset.Currency),
		Block: &chain.Block{Height: 100 + n.blocksAbove, Hash: fmt.Sprintf("0x%d", 100+n.blocksAbove), Time: r.clock.Now()},
	})
	r.reach(n)
}

// read returns an invoice from storage.
func (r *reachable) read(id string) *invoice.Invoice {
	r.t.Helper()
	inv, err := r.service.Invoice(r.t.Context(), id)
	r.must(err)
	return inv
}

func TestBridgedToken_does_not_count(t *testing.T) {
	t.Parallel()
	r := newReachable(t)
	r.reach(r.ethereum, r.base)
	inv, err := r.create(t.Context(), "USDC-BASE", "EURC-BASE")
	r.must(err)
	r.clock.Advance(time.Minute)
	bridged := ethereum.Base.Bridged[0]
	r.addTransfer(r.base, inv, "0xaa", bridged, "1000")
	got := r.read(inv.ID)
	if got.State.Status != invoice.Created || !got.State.Has(invoice.WrongAsset) || !got.State.Paid.IsZero() {
		t.Errorf("the invoice is %s %v, paid %s; want created and wrong_asset", got.State.Status, got.State.Exceptions, got.State.Paid)
	}
	list := got.Payments()
	if len(list) != 1 || list[0].State != invoice.PaymentWrongAsset || list[0].Asset != "USDBC" || list[0].Amount.String() != "1000" || list[0].Amount.Currency() != bridged.Currency {
		t.Errorf("payments %+v", list)
	}
	r.addTransfer(r.base, inv, "0xbb", ethereum.Base.Assets[0], "40")
	got = r.read(inv.ID)
	if got.State.Status != invoice.Pending || !got.State.Due.IsZero() || !got.State.Has(invoice.WrongAsset) || got.State.Has(invoice.Overpaid) {
		t.Errorf("the invoice is %s %v, due %s", got.State.Status, got.State.Exceptions, got.State.Due)
	}
}

func TestBridgedToken_does_not_count_if_late(t *testing.T) {
	t.Parallel()
	r := newReachable(t)
	r.reach(r.ethereum, r.base)
	inv, err := r.service.Create(t.Context(), invoice.CreateRequest{
		MerchantID: "m", Mode: invoice.Live, ExpiresIn: time.Hour, Wallets: []invoice.Wallet{r.wallet}, PaymentMethods: []string{"USDC-BASE"},
		Terms: invoice.Terms{Price: fiat("40"), Rules: invoice.DefaultRules(money.EUR), AllowPaidExpired: true},
	})
	r.must(err)
	r.clock.Advance(2 * time.Hour)
	r.reach(r.base)
	_, err = r.service.Expire(t.Context(), 10)
	r.must(err)
	r.addTransfer(r.base, inv, "0xaa", ethereum.Base.Bridged[0], "1000")
	got := r.read(inv.ID)
	if got.State.Status != invoice.Expired || !got.State.Has(invoice.WrongAsset) || got.State.Has(invoice.Late) || got.Transfers[0].Market != nil {
		t.Errorf("the invoice is %s %v with %+v, want it expired with a wrong asset without a price", got.State.Status, got.State.Exceptions, got.Transfers)
	}
}

func TestBridgedToken_is_known_and_not_offered(t *testing.T) {
	t.Parallel()
	r := newReachable(t)
	r.reach(r.ethereum, r.base)
	var unknown *invoice.UnknownMethodError
	if _, err := r.create(t.Context(), "USDBC"); !errors.As(err, &unknown) {
		t.Errorf("an invoice in a bridged token: %v", err)
	}
	if slices.Contains(r.service.MethodCodes(invoice.Live), "USDBC") || r.service.HasMethod(invoice.Live, "USDBC") {
		t.Error("a bridged token is a payment method")
	}
	if _, offered := r.service.Asset("base", "USDBC"); offered {
		t.Error("a bridged token is offered")
	}
	if a, known := r.service.KnownAsset("base", "USDBC"); !known || a.Symbol != "USDbC" || a.NetworkName != "Base" {
		t.Errorf("KnownAsset returned %+v, %t", a, known)
	}
	if _, known := r.service.KnownAsset("ethereum", "USDBC"); known {
		t.Error("a bridged token of Base is known on Ethereum")
	}
	for code, want := range map[string][]string{"USDC-BASE": {"USDbC"}, "EURC-BASE": {}, "ETH-BASE": {}} {
		a, _ := r.service.Asset("base", code)
		if got := r.service.BridgedSymbols(a); !slices.Equal(got, want) {
			t.Errorf("bridged versions of %s: %q, want %q", code, got, want)
		}
	}
	usdc, _ := r.service.Asset("ethereum", "USDC")
	if got := r.service.BridgedSymbols(usdc); len(got) != 0 {
		t.Errorf("bridged versions of USDC on Ethereum: %q", got)
	}
}

// A program that does not know a token, such as an older version, reads an invoice that received the
// token. The state of the invoice is the same as in a program that knows the token.
func TestBridgedToken_is_read_by_a_program_that_does_not_know_it(t *testing.T) {
	t.Parallel()
	r := newReachable(t)
	r.reach(r.ethereum, r.base)
	inv, err := r.create(t.Context(), "EURC-BASE")
	r.must(err)
	r.clock.Advance(time.Minute)
	r.addTransfer(r.base, inv, "0xaa", ethereum.Base.Bridged[0], "7")
	before := r.read(inv.ID)
	old := ethereum.Base
	old.Bridged = nil
	r.base.Network = ethereum.New(old)
	r.start()
	if _, known := r.service.KnownAsset("base", "USDBC"); known {
		t.Fatal("the old program knows the token")
	}
	r.clock.Advance(time.Minute)
	r.reach(r.base)
	got := r.read(inv.ID)
	if got.State.Status != before.State.Status || !got.State.Has(invoice.WrongAsset) || len(got.Transfers) != 1 || got.Transfers[0].Amount.Cmp(before.Transfers[0].Amount) != 0 {
		t.Errorf("the invoice is %s %v with %+v, want the same transfer of a wrong asset", got.State.Status, got.State.Exceptions, got.Transfers)
	}
	list, _, err := r.service.Invoices(t.Context(), invoice.Filter{MerchantID: "m", Mode: invoice.Live}, invoice.Position{}, 10)
	r.must(err)
	if len(list) != 1 || len(list[0].Transfers) != 1 || list[0].Transfers[0].Asset != "USDBC" {
		t.Errorf("the list has %+v, want one transfer of USDBC", list)
	}
	recorded, err := r.store.TransfersAbove(t.Context(), "base", 0)
	r.must(err)
	if len(recorded) != 1 || recorded[0].Asset != "USDBC" || recorded[0].Amount.String() != "7" {
		t.Errorf("recorded transfers %+v", recorded)
	}
}
