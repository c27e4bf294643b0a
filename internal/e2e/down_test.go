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
	type sale struct {
		coin
		node   *bitcointest.Node
		looks  *process
		beside shop
		id, tx string
	}
	var sales []sale
	for _, c := range coins { // the expiries are awaited together
		s, folder := sale{coin: c, node: c.start(t)}, t.TempDir()
		looks, key := shopIn(t, folder, c, s.node)
		beside := programIn(t, folder, "CHEQUER_BITCOIN_NODE=off")
		beside.serve()
		s.looks, s.beside = looks, newShop(t, beside.url, key)
		id, err := newShop(t, looks.url, key).client.CreateInvoice(t.Context(),
			api.InvoiceRequest{Amount: "12.50", FiatCurrency: "EUR", ExpiresIn: 60}, "")
		if err != nil {
			t.Fatal(err)
		}
		s.id = id
		looks.kill()
		r := s.beside.invoice(id)
		s.tx = c.pay(t, s.node, r, r.PaymentMethods[0].DueAmount)
		sales = append(sales, s)
	}
	ended := time.Now().Add(62 * time.Second)
	until(t, 2*time.Minute, "the last quote has expired", func() bool { return time.Now().After(ended) })
	for _, s := range sales {
		if got := s.beside.invoice(s.id).Status; got != api.StatusCreated {
			t.Errorf("%s: without a watching program the invoice is %s, want created", s.name, got)
		}
		s.node.Mine(t, s.tx)
		if s.kind == keys.LTC {
			s.node.MineBlocks(t, 3)
		}
		s.looks.serve()
	}
	for _, s := range sales {
		s.beside.status(s.id, api.StatusPaid, waitTimeout)
	}
}
