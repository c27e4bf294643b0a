package books_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"
	"golang.org/x/text/encoding/charmap"

	"chequer/internal/books"
	"chequer/internal/invoice"
	"chequer/internal/money"
)

// bookings returns the cells of a batch of bookings.
func bookings(t *testing.T, content []byte) (rows [][]string) {
	t.Helper()
	text, err := charmap.Windows1252.NewDecoder().String(string(content))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\r\n"), "\r\n") {
		rows = append(rows, strings.Split(line, ";"))
	}
	return rows
}

// sumOfBookings returns the sum of a batch of bookings.
func sumOfBookings(t *testing.T, content []byte) string {
	t.Helper()
	total := decimal.Decimal{}
	for _, row := range bookings(t, content)[2:] {
		amount := decimal.RequireFromString(strings.Replace(row[0], ",", ".", 1))
		if row[1] == `"H"` {
			amount = amount.Neg()
		}
		total = total.Add(amount)
	}
	return total.StringFixed(2)
}

func datevOptions() books.DATEVOptions {
	return books.DATEVOptions{Adviser: 29098, Client: 55003, AccountLength: 4, Coins: "1360", Clearing: "10000", Exchange: "1370", Fees: "6855"}
}

func TestExport_writes_bookings(t *testing.T) {
	f := newFixture(t)
	at := moment("2026-11-03T23:30:00Z")
	inv := newInvoice("inv_a", at)
	inv.Terms.OrderID = `Bücher; "1042"/7`
	paid := pay(inv, "BTC", 100, "90000", at)
	inv.Refunds = []invoice.Refund{{ID: "ref", State: invoice.RefundSent, Network: "bitcoin", Asset: "BTC", Amount: money.MustParse("0.0001", money.BTC), Sent: invoice.Mark{At: at}, Rate: mustRate("90000", money.BTC), Value: money.FromCents(900, money.EUR)}}
	inv.Sales = []invoice.Sale{{Coin: "BTC", Orders: []invoice.SaleOrder{{
		Number: 1, State: invoice.OrderDone, SentAt: at, Sold: paid.Amount, Euro: money.MustParse("58.5", invoice.SaleEuro), Fee: money.MustParse("0.15", invoice.SaleEuro),
	}}}}
	f.put(inv)
	file := f.close(t, "2026-11")[0]
	f.now = moment("2026-12-02T08:09:10Z")
	exported, err := file.Export(books.DATEV, datevOptions(), f.now)
	if err != nil {
		t.Fatal(err)
	}
	if len(exported) != 1 || exported[0].Name != "EXTF_Buchungsstapel_2026-11.csv" {
		t.Errorf("files %+v", exported)
	}
	rows := bookings(t, exported[0].Content)
	head := `"EXTF";700;21;"Buchungsstapel";13;20261202080910000;;;;;29098;55003;20260101;4;20261101;20261130;"Chequer 2026-11";;1;0;0;"EUR";;;;;;;;;`
	if got := strings.Join(rows[0], ";"); got != head {
		t.Errorf("header\n got %s\nwant %s", got, head)
	}
	for i, row := range rows[1:] {
		if len(row) != 125 {
			t.Errorf("row %d has %d cells, want 125", i+1, len(row))
		}
	}
	var got [][]string
	for _, row := range rows[2:] {
		got = append(got, []string{row[0], row[1], row[6], row[7], row[9], row[10], row[13]})
	}
	want := [][]string{
		{"58,50", `"S"`, "1370", "1360", "0411", `"Bcher1042/7"`, `"conversion 0.00065379 BTC, line 1"`},
		{"0,15", `"S"`, "6855", "1370", "0411", `"Bcher1042/7"`, `"conversion 0.00065379 BTC, line 1"`},
		{"58,84", `"S"`, "1360", "10000", "0411", `"Bcher1042/7"`, `"payment 0.00065379 BTC, line 2"`},
		{"9,00", `"H"`, "1360", "10000", "0411", `"Bcher1042/7"`, `"refund -0.0001 BTC, line 3"`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("bookings (-want +got):\n%s", diff)
	}
}

func TestExport_names_what_bookings_need(t *testing.T) {
	f := newFixture(t)
	file := f.close(t, "2026-11")[0]
	for want, change := range map[string]func(*books.DATEVOptions){
		"adviser must be a number from 1001 to 9999999": func(o *books.DATEVOptions) { o.Adviser = 1000 },
		"client must be a number from 1 to 99999":       func(o *books.DATEVOptions) { o.Client = 0 },
		"account length must be a number from 4 to 8":   func(o *books.DATEVOptions) { o.AccountLength = 9 },
		"the account coins is missing":                  func(o *books.DATEVOptions) { o.Coins = "" },
		`the account clearing, "12a4", must be a number without leading zeros of 4 digits, or 5 for a person`: func(o *books.DATEVOptions) { o.Clearing = "12a4" },
		"the fiscal year that begins on 2026-12-01 does not contain 2026-11":                                  func(o *books.DATEVOptions) { o.FiscalYear = moment("2026-12-01T00:00:00Z") },
		"the fiscal year that begins on 2025-07-01 does not contain 2026-11":                                  func(o *books.DATEVOptions) { o.FiscalYear = moment("2025-07-01T00:00:00Z") },
	} {
		o := datevOptions()
		change(&o)
		if _, err := file.Export(books.DATEV, o, f.now); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Export() = %v, want %q", err, want)
		}
	}
}
