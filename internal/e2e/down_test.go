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
		s, folder := payment{coin: c, node: c.start(t)}, t.TempDir()
		watching, key := shopIn(t, folder, c, s.node)
		unwatching := programIn(t, folder, "CHEQUER_BITCOIN_NODE=off")
		unwatching.serve()
		s.watching, s.unwatching = watching, newShop(t, unwatching.url, key)
		id, err := newShop(t, watching.url, key).client.CreateInvoice(t.Context(),
			api.InvoiceRequest{Amount: "12.50", FiatCurrency: "EUR", ExpiresIn: 60}, "")
		if err != nil {
			t.Fatal(err)
		}
		s.id = id
		watching.kill()
		r := s.unwatching.invoice(id)
		s.tx = c.pay(t, s.node, r, r.PaymentMethods[0].DueAmount)
		payments = append(payments, s)
	}
	deadline := time.Now().Add(62 * time.Second)
	until(t, 2*time.Minute, "the last quote has expired", func() bool { return time.Now().After(deadline) })
	for _, s := range payments {
		if got := s.unwatching.invoice(s.id).Status; got != api.StatusCreated {
			t.Errorf("%s: without a watching program the invoice is %s, want created", s.name, got)
		}
		s.node.Mine(t, s.tx)
		if s.kind == keys.LTC {
			s.node.MineBlocks(t, 3)
		}
		s.watching.serve()
	}
	for _, s := range payments {
		s.unwatching.waitStatus(s.id, api.StatusPaid, waitTimeout)
	}
}
