package greenfield_test

import (
	"testing"

	"chequer/internal/invoice"
	"chequer/internal/money"
)

// A search for an order of the plug-in finds no invoice of a terminal or the storefront with the same order ID: a plug-in
// would take its payment for that of its own order.
func TestListInvoices_of_other_origins(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storageFile(t))
	for _, kind := range []invoice.OriginKind{invoice.FromTerminal, invoice.FromProduct} {
		r := invoice.CreateRequest{ID: f.invoices.NewID(), MerchantID: f.shop.ID, Mode: invoice.Test, Origin: invoice.Origin{Kind: kind, ID: "pos_1"}}
		r.Terms.OrderID, r.Terms.Price = "1042", money.MustParse("1.00", money.EUR)
		r.Terms.Rules = invoice.DefaultRules(money.EUR)
		inv, err := f.config.Creator.Create(t.Context(), r, []byte("{}"), func(*invoice.CreateRequest) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		f.confirm(f.pay(inv.ID, "0.001"))
	}
	own := f.create(`{"amount":"864.20","currency":"EUR","metadata":{"orderId":"1042"}}`).ID
	for _, v := range call[[]view](f, "GET", f.store("/invoices?orderId=1042"), "") {
		if v.ID != own {
			t.Errorf("found %s %s %s %s, metadata %s", v.ID, v.Status, v.Amount, v.Currency, v.Metadata)
		}
	}
}
