package e2e_test

import (
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/chain/bitcoin/bitcointest"
	"chequer/internal/keys"
)

// TestPaid_while_no_program_watches stops the watching program while shoppers pay in time, and blocks
// confirm the payments after the expiry. A second program on the same data, which serves and does
// not watch, must not let the invoices expire meanwhile.
func TestPaid_while_no_program_watches(t *testing.T) {
	t.Parallel()
	type payment struct {
		coin
		node       *bitcointest.Node
		watching   *process
		unwatching shop
		id, tx     string
	}
	var payments []payment
	for _, c := range coins { // the expiries are awaited together
		p, folder := payment{coin: c, node: c.start(t)}, t.TempDir()
		watching, key := startShopIn(t, folder, c, p.node)
		unwatching := newProcess(t, folder, "CHEQUER_BITCOIN_NODE=off")
		unwatching.serve()
		p.watching, p.unwatching = watching, newShop(t, unwatching.url, key)
		id, err := newShop(t, watching.url, key).client.CreateInvoice(t.Context(),
			api.InvoiceRequest{Amount: "12.50", FiatCurrency: "EUR", ExpiresIn: 60}, "")
		if err != nil {
			t.Fatal(err)
		}
		p.id = id
		watching.kill()
		r := p.unwatching.invoice(id)
		p.tx = c.pay(t, p.node, r, r.PaymentMethods[0].DueAmount)
		payments = append(payments, p)
	}
	deadline := time.Now().Add(62 * time.Second)
	until(t, 2*time.Minute, "the last quote has expired", func() bool { return time.Now().After(deadline) })
	for _, p := range payments {
		if got := p.unwatching.invoice(p.id).Status; got != api.StatusCreated {
			t.Errorf("%s: without a watching program the invoice is %s, want created", p.name, got)
		}
		p.node.Mine(t, p.tx)
		if p.kind == keys.LTC {
			p.node.MineBlocks(t, 3)
		}
		p.watching.serve()
	}
	for _, p := range payments {
		p.unwatching.waitStatus(p.id, api.StatusPaid, waitTimeout)
	}
}
