package e2e_test

import (
	"log/slog"

	"chequer/internal/app"
	"chequer/internal/chain/simnet"
	"chequer/internal/money"
)

// payRefund returns a step that pays the refund of the invoice on the test network, as the merchant's wallet does, waits until the
// program has seen it, and visits the desk's page of refunds again.
func payRefund(confirm bool) func(*tab, *demoSite) {
	return func(b *tab, site *demoSite) {
		b.t.Helper()
		id := idOf(site.page)
		before := site.shop().invoice(id)
		core, err := app.OpenCore(b.t.Context(), site.settings, app.Options{Existing: true, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			b.t.Fatal(err)
		}
		defer core.Close()
		net := simnet.New(core.Storage, core.Now)
		refund := before.Refunds[0]
		to, err := net.ReadAddress(refund.CryptoCurrency, refund.Address)
		if err != nil {
			b.t.Fatal(err)
		}
		for _, a := range net.Assets() {
			if a.Code != refund.CryptoCurrency {
				continue
			}
			tx, err := net.Pay(b.t.Context(), a, to.Script, money.MustParse(refund.Amount, a.Currency))
			if err == nil && confirm {
				err = net.Confirm(b.t.Context(), []string{tx})
			}
			if err != nil {
				b.t.Fatal(err)
			}
		}
		until(b.t, waitTimeout, "the payment of the refund is recorded", func() bool { return site.shop().invoice(id).Version > before.Version })
		signedIn("/payments/"+id+"/refund")(b, site)
	}
}

// atPage visits the payment page of the invoice.
func atPage(b *tab, site *demoSite) { b.visit(site.page) }
