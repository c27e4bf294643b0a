package server_test

import (
	"encoding/csv"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"chequer/internal/api"
)

// A spreadsheet in most of Europe separates cells by semicolons: a description must not begin a
// formula there either.
func TestExport_has_no_formula_in_a_sheet_with_semicolons(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	for _, text := range []string{"coffee;=1+1", "coffee;@SUM(1)", `coffee;\"=1+1`, "coffee; =1+1", "a\\n=1+1", "a\\t=1+1"} {
		response := f.send(message{method: "POST", target: "/api/v2/invoice/new", key: "all", body: `{"amount":1,"fiat_currency":"EUR","description":"` + text + `"}`})
		if response.StatusCode != http.StatusOK {
			t.Fatal(read(t, response))
		}
	}
	sheet := read(t, f.send(message{method: "GET", target: "/api/v2/invoices/export?format=csv", key: "all", signRequest: true}))
	r := csv.NewReader(strings.NewReader(sheet))
	r.Comma, r.LazyQuotes, r.FieldsPerRecord = ';', true, -1
	for {
		row, err := r.Read()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, cell := range row {
			if cell = strings.TrimLeft(cell, " \""); cell != "" && strings.ContainsRune("=+-@", rune(cell[0])) {
				t.Errorf("a cell is a formula: %q", cell)
			}
		}
	}
}

// CONTRACT: the same key and order lead to the receipt once the order is paid.
func TestSignedLink_of_an_order_that_was_paid_late_leads_to_its_receipt(t *testing.T) {
	t.Parallel()
	now := noon
	f := newFixture(t, func() time.Time { return now })
	link := linkQuery("all", "order_id", "1042")
	first := f.pay(t, link)
	f.send(message{method: "POST", target: "/api/v2/test/invoices/" + first + "/simulate", key: "all", signRequest: true, body: `{"action":"` + api.SimulateLate + `"}`})
	second := f.pay(t, link)
	if second == first {
		t.Fatal("no new invoice for an order whose invoice expired")
	}
	response := f.send(message{method: "POST", target: "/api/v2/invoices/" + first + "/accept", key: "all", signRequest: true, body: `{}`})
	if response.StatusCode != http.StatusOK {
		t.Fatal(read(t, response))
	}
	f.send(message{method: "POST", target: "/api/v2/test/invoices/" + first + "/simulate", key: "all", signRequest: true, body: `{"action":"` + api.SimulateConfirm + `"}`})
	if got := f.resource(t, first).Status; got != api.StatusPaid {
		t.Fatalf("the first invoice is %s, want %s", got, api.StatusPaid)
	}
	if got := f.readLink(t, link).ForeignID; got != first {
		t.Errorf("the order is paid by invoice %s, but its link leads to %q", first, got)
	}
}
