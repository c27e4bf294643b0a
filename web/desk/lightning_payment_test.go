package desk_test

import (
	"encoding/csv"
	"net/http"
	"strings"
	"testing"

	"chequer/internal/chain"
	"chequer/internal/money"
)

// The page of an invoice that was paid over Lightning names the payment hash and the request. It has no block, no
// confirmations and no link to a block explorer.
func TestPayment_over_Lightning(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		b := f.owner()
		s := f.testInvoices
		t.Cleanup(s.Close)
		inv := s.sellLightning("1048", "80.00")
		at := "/desk/shop/payments/" + inv.ID
		b.get(at).want(http.StatusOK, "Waiting")
		hash := s.payRequest(inv)
		request := s.reload(inv).PaymentRequests()[0].Address
		page := b.get(at).want(http.StatusOK, "€80.00 Paid Order 1048", "Received 0.001 BTC €80.00 Counted €80.00 Price €80.00", "Payment hash", "Payment request", "Transfer of 0.001 BTC Confirmed",
			"Transfer seen", "Payment settled", "Methods Lightning Created", "Prepare refund")
		for _, wrong := range []string{"Confirmations", "Block", "Transfer in a block", "Transaction"} {
			if strings.Contains(page.text(), wrong) {
				t.Errorf("the page has %q: %s", wrong, page.text())
			}
		}
		page.find("code.addr").Each(func(i int, c *selection) {
			if want := []string{hash, request}[i]; strings.Join(strings.Fields(c.Text()), "") != want {
				t.Errorf("code %d is %q, want %q", i, c.Text(), want)
			}
		})
		for _, part := range []string{hash, request} {
			if n := page.find(`a[href*="` + part + `"]`).Length(); n != 0 {
				t.Errorf("the page has %d links with %s", n, part)
			}
		}
		for _, search := range []string{hash, strings.ToUpper(hash), request, "lightning:" + strings.ToUpper(request)} {
			b.get("/desk/shop/payments?mode=test&q=" + search).wantRedirect(at)
		}
		if row := textOf(b.get("/desk/shop/payments?mode=test").find("tbody tr")); strings.Count(row, "Lightning") != 1 {
			t.Errorf("the row of the list is %q", row)
		}
	})
}

// The reports and their file count a payment over Lightning as bitcoin on the network Lightning, with the payment hash as the
// transaction.
func TestReports_contain_payments_over_Lightning(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		b := f.owner()
		s := f.testInvoices
		t.Cleanup(s.Close)
		inv := s.sellLightning("1048", "80.00")
		hash := s.payRequest(inv)
		s.settle(s.sell(shop, "1049", "40.00"), "0.0005")
		for by, want := range map[string]string{"": "€120.00", "&by=method": "Lightning"} {
			b.get("/desk/shop/reports?mode=test&period=2026-11"+by).want(http.StatusOK, want)
		}
		page := b.get("/desk/shop/reports/export?mode=test&period=2026-11&format=csv")
		rows, err := csv.NewReader(strings.NewReader(page.body)).ReadAll()
		f.must(err)
		column := map[string]int{}
		for i, name := range rows[0] {
			column[name] = i
		}
		sum := money.Zero(money.EUR)
		found := false
		for _, row := range rows[1:] {
			sum = sum.Add(money.MustParse(row[column["paid_amount"]], money.EUR))
			if row[column["order_id"]] != "1048" {
				continue
			}
			found = true
			for name, want := range map[string]string{"paid_currency": chain.CodeLightning, "paid_tx": hash, "received": "0.001 BTC-LN", "paid_amount": "80", "exceptions": "", "status": "paid"} {
				if got := row[column[name]]; got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
		}
		if !found || sum.String() != "120" {
			t.Errorf("the file has the row: %t, and the sum %s: %s", found, sum, page.body)
		}
	})
}
