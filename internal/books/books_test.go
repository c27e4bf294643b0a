package books_test

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"chequer/internal/books"
	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/sweep/plan/plantest"
	"chequer/internal/sweep/recorded"
)

func vatRate(t *testing.T, text string) money.VATRate {
	t.Helper()
	r, err := money.ParseVATRate(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// rowsOf returns the rows of a file in CSV as maps by column.
func rowsOf(t *testing.T, text string, comma rune) (rows []map[string]string) {
	t.Helper()
	r := csv.NewReader(strings.NewReader(strings.TrimPrefix(text, "\ufeff")))
	r.Comma = comma
	all, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, cells := range all[1:] {
		row := map[string]string{}
		for i, name := range all[0] {
			if cells[i] != "" {
				row[name] = cells[i]
			}
		}
		rows = append(rows, row)
	}
	return rows
}

func TestClose_writes_a_line_for_each_movement(t *testing.T) {
	f := newFixture(t)
	at := moment("2026-10-31T23:30:00Z") // 1 November in Berlin
	inv := newInvoice("inv_a", at)
	inv.Origin = invoice.Origin{Kind: invoice.FromProduct, ID: "mug"}
	inv.Terms.VAT = vatRate(t, "19")
	pay(inv, "BTC", 60, "90000", at.Add(time.Minute))
	pay(inv, "EURC", 70, "0.99", at.Add(2*time.Minute))
	eurc := inv.Transfers[1].Amount
	inv.State.Exceptions = []invoice.Exception{invoice.Overpaid}
	inv.Refunds = []invoice.Refund{{
		ID: "ref_1", Kind: invoice.RefundPart, State: invoice.RefundConfirmed, Network: "ethereum", Asset: "EURC", Amount: money.MustParse("16.95", eurc.Currency()),
		Rate: mustRate("0.995", eurc.Currency()), Source: "median", Value: money.FromCents(1686, money.EUR), Tx: "0xrefund",
		MarketRate: invoice.MarketRate{Price: mustRate("0.98", eurc.Currency()), Source: "kraken", At: at.Add(91 * time.Minute)},
		Prepared:   invoice.Mark{At: at.Add(time.Hour)}, Sent: invoice.Mark{At: at.Add(2 * time.Hour)},
		Payment: &invoice.RefundPayment{FirstSeen: at.Add(90 * time.Minute), Block: inv.Transfers[0].Block, Confirmations: 1, Required: 1},
	}}
	inv.Sales = []invoice.Sale{{Coin: "BTC", Amount: inv.Transfers[0].Amount, Orders: []invoice.SaleOrder{
		{Number: 1, State: invoice.OrderAbsent, SentAt: at},
		{Number: 2, State: invoice.OrderDone, SentAt: at.Add(3 * time.Hour), Ref: "O-77", Sold: money.MustParse("0.0003", money.BTC), Euro: money.MustParse("26.9", invoice.SaleEuro), Fee: money.MustParse("0.07", invoice.SaleEuro)},
	}}}
	f.put(inv)
	swept := recorded.New("shop", plantest.Encoded(t, plantest.Example(at)))
	swept.Rows[0] = recorded.Row{State: recorded.Moved, Tx: "0xswept", ChangedAt: at.Add(4 * time.Hour)}
	f.sweeps = []recorded.Sweep{swept}

	file := f.close(t, "2026-11")[0]
	rows := rowsOf(t, file.CSV, ',')
	common := map[string]string{"date": "2026-11-01", "order_id": "order inv_a", "invoice": "inv_a", "product": "mug"}
	line := func(fields map[string]string) map[string]string {
		for name, value := range common {
			fields[name] = value
		}
		return fields
	}
	want := []map[string]string{
		line(map[string]string{
			"line": "1", "kind": "payment", "received_at": "2026-10-31T23:31:00.000Z", "block_time": "2026-10-31T23:32:00.000Z", "confirmed_at": "2026-10-31T23:32:00.000Z",
			"network": "bitcoin", "asset": "BTC", "amount": "0.00039228", "address": "to-shop/BTC/0", "tx": "tx_inv_a_0", "output": "0", "price": "33.9", "price_currency": "EUR", "vat_rate": "19", "net": "28.49", "vat": "5.41",
			"eur_value": "35.31", "rate": "90000", "rate_source": "median", "rate_at": "2026-10-31T23:31:00.000Z", "exceptions": "overpaid",
		}),
		line(map[string]string{
			"line": "2", "kind": "payment", "received_at": "2026-10-31T23:32:00.000Z", "block_time": "2026-10-31T23:33:00.000Z", "confirmed_at": "2026-10-31T23:33:00.000Z",
			"network": "ethereum", "asset": "EURC", "amount": "39.554884", "address": "to-shop/ETH/0", "tx": "tx_inv_a_1", "output": "0", "price": "22.6", "price_currency": "EUR", "vat_rate": "19", "net": "18.99", "vat": "3.61",
			"eur_value": "39.16", "rate": "0.99", "rate_source": "median", "rate_at": "2026-10-31T23:32:00.000Z", "exceptions": "overpaid",
		}),
		line(map[string]string{
			"line": "3", "kind": "refund", "received_at": "2026-11-01T01:00:00.000Z", "block_time": "2026-10-31T23:32:00.000Z", "confirmed_at": "2026-10-31T23:32:00.000Z",
			"network": "ethereum", "asset": "EURC", "amount": "-16.95", "tx": "0xrefund", "price": "-16.86", "price_currency": "EUR", "vat_rate": "19", "net": "-14.17", "vat": "-2.69", "eur_value": "-16.61", "rate": "0.98",
			"rate_source": "kraken", "rate_at": "2026-11-01T01:01:00.000Z", "refund_of": "inv_a",
		}),
		line(map[string]string{
			"line": "4", "kind": "conversion", "received_at": "2026-11-01T02:30:00.000Z", "asset": "BTC", "tx": "O-77", "sold": "0.0003", "euro": "26.9", "conversion_fee": "0.07",
		}),
		{
			"line": "5", "kind": "sweep", "date": "2026-11-01", "received_at": "2026-11-01T03:30:00.000Z", "network": swept.Plan.Network.ID, "asset": swept.Plan.Rows[0].Asset,
			"amount":  "-" + decimal.NewFromBigInt(swept.Plan.Rows[0].Amount, -int32(swept.Plan.Decimals(swept.Plan.Rows[0].Asset))).String(),
			"address": swept.Plan.Rows[0].From.String(), "tx": "0xswept", "sweep": swept.Plan.ID,
		},
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if _, err := books.Verify([]books.SignedFile{{Name: "a", CSV: file.CSV, Statement: file.Statement}}, f.trusted(t)); err != nil {
		t.Error(err)
	}
}

// A transfer that does not count has no price, and one without a market rate is valued at the rate of its quote.
func TestClose_lists_money_that_does_not_count_as_unassigned(t *testing.T) {
	f := newFixture(t)
	at := moment("2026-11-03T10:00:00Z")
	inv := newInvoice("inv_a", at)
	late := pay(inv, "BTC", 100, "90000", at.Add(48*time.Hour))
	late.Rate = invoice.MarketRate{}
	f.put(inv)
	rows := rowsOf(t, f.close(t, "2026-11")[0].CSV, ',')
	if len(rows) != 1 || rows[0]["kind"] != "unassigned" || rows[0]["price"] != "" || rows[0]["eur_value"] != "56.5" || rows[0]["rate"] != "86420" || rows[0]["rate_source"] != "fixed" {
		t.Errorf("lines %v", rows)
	}
}

// A refund reverses at most the part of the price that payments in its asset paid: a surplus, and money that does not count, have none.
func TestClose_reverses_no_more_than_was_paid(t *testing.T) {
	at := moment("2026-11-03T10:00:00Z")
	refund := func(kind invoice.RefundKind, cents int64) invoice.Refund {
		return invoice.Refund{
			ID: fmt.Sprint("ref", cents), Kind: kind, State: invoice.RefundSent, Network: "bitcoin", Asset: "BTC", Amount: money.MustParse("0.0001", money.BTC),
			Rate: mustRate("90000", money.BTC), Value: money.FromCents(cents, money.EUR), Sent: invoice.Mark{At: at.Add(time.Hour)},
		}
	}
	for name, c := range map[string]struct {
		percent  int64
		received time.Duration
		refunds  []invoice.Refund
		price    string
		vat      string
	}{
		"surplus":             {120, 0, []invoice.Refund{refund(invoice.RefundSurplus, 1130)}, "56.5", "9.02"},
		"after the rate rose": {100, 0, []invoice.Refund{refund(invoice.RefundReceived, 11300)}, "0", "0"},
		"twice":               {100, 0, []invoice.Refund{refund(invoice.RefundPart, 3000), refund(invoice.RefundPart, 4000)}, "0", "0"},
		"late":                {100, 48 * time.Hour, []invoice.Refund{refund(invoice.RefundReceived, 5650)}, "0", "0"},
		"a part":              {100, 0, []invoice.Refund{refund(invoice.RefundPart, 1000)}, "46.5", "7.42"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			inv := newInvoice("inv_a", at)
			inv.Terms.VAT = vatRate(t, "19")
			pay(inv, "BTC", c.percent, "90000", at.Add(c.received))
			inv.Refunds = c.refunds
			f.put(inv)
			price, vat := decimal.Decimal{}, decimal.Decimal{}
			for _, l := range f.close(t, "2026-11")[0].Lines {
				price, vat = price.Add(l.Price.Decimal), vat.Add(l.VAT.Decimal)
			}
			if price.String() != c.price || vat.String() != c.vat {
				t.Errorf("price %s and VAT %s, want %s and %s", price, vat, c.price, c.vat)
			}
		})
	}
}

// Gas that the merchant sends to its own address has no value, and does not keep the month open.
func TestClose_values_no_dust(t *testing.T) {
	f := newFixture(t)
	at := moment("2026-11-03T10:00:00Z")
	inv := newInvoice("inv_a", at)
	pay(inv, "EURC", 100, "1", at)
	gas := pay(inv, "ETH", 1, "2871", at.Add(time.Minute))
	gas.Amount = money.MustParse("0.001", money.ETH)
	waiting := pay(inv, "ETH", 1, "2871", at.Add(2*time.Minute))
	waiting.Amount, waiting.Confirmations = gas.Amount, 1
	f.put(inv)
	rows := rowsOf(t, f.close(t, "2026-11")[0].CSV, ',')
	if len(rows) != 2 || rows[1]["kind"] != "unassigned" || rows[1]["exceptions"] != "dust" || rows[1]["eur_value"] != "" || rows[1]["amount"] != "0.001" {
		t.Errorf("lines %v", rows)
	}
}

// An invoice that cannot be read keeps the month open, unless it is left for later.
func TestClose_names_an_unreadable_invoice(t *testing.T) {
	f := newFixture(t)
	f.unreadable = "inv_a"
	f.put(newInvoice("inv_a", moment("2026-11-03T10:00:00Z")))
	if _, err := f.Close(t.Context(), f.shop, "2026-11", false); !errors.Is(err, books.ErrOpen) || !strings.Contains(err.Error(), "invoice inv_a, which cannot be read") {
		t.Errorf("Close() = %v, want %v", err, books.ErrOpen)
	}
	if files, err := f.Close(t.Context(), f.shop, "2026-11", true); err != nil || len(files) != 1 || len(f.changes) != 1 {
		t.Errorf("left for later: %d files, error %v, %d invoices to examine again", len(files), err, len(f.changes))
	}
}

// The months before are closed first, each with its own statement that names the one before.
func TestClose_closes_the_months_before(t *testing.T) {
	f := newFixture(t)
	for i, at := range []string{"2026-09-10T10:00:00Z", "2026-11-10T10:00:00Z", "2026-12-01T10:00:00Z"} {
		inv := newInvoice(fmt.Sprintf("inv_%d", i), moment(at))
		pay(inv, "BTC", 100, "90000", moment(at))
		f.put(inv)
	}
	files := f.close(t, "2026-11")
	var got []string
	var signed []books.SignedFile
	for _, file := range files {
		got = append(got, fmt.Sprintf("%s %d", file.Month, len(file.Lines)))
		signed = append(signed, books.SignedFile{Name: string(file.Month), CSV: file.CSV, Statement: file.Statement})
	}
	if diff := cmp.Diff([]string{"2026-09 1", "2026-10 0", "2026-11 1"}, got); diff != "" {
		t.Errorf("months (-want +got):\n%s", diff)
	}
	verified, err := books.Verify(signed, f.trusted(t))
	if err != nil || len(verified) != 3 || verified[0].FollowsPrevious || !verified[1].FollowsPrevious || !verified[2].FollowsPrevious {
		t.Errorf("verified %+v, error %v", verified, err)
	}
	if next := f.close(t, "2026-12"); len(next) != 1 || len(next[0].Lines) != 1 {
		t.Errorf("December: %+v", next)
	}
	if _, err := f.Close(t.Context(), f.shop, "2026-11", false); !errors.Is(err, books.ErrClosed) {
		t.Errorf("closed again: %v", err)
	}
	if _, err := f.VerifyStored(t.Context(), "shop", f.trusted(t)); err != nil {
		t.Error(err)
	}
}

// What changes after a month is closed is a correction in the next month, and nothing is corrected twice.
func TestClose_corrects_in_the_next_month(t *testing.T) {
	f := newFixture(t)
	at := moment("2026-11-03T10:00:00Z")
	gone, late, learned := newInvoice("inv_gone", at), newInvoice("inv_late", at), newInvoice("inv_learned", at)
	pay(gone, "BTC", 100, "90000", at)
	pay(late, "BTC", 100, "90000", at.Add(48*time.Hour))
	for _, inv := range []*invoice.Invoice{gone, late, learned} {
		f.put(inv)
	}
	f.close(t, "2026-11")

	gone.Transfers[0].Presence = invoice.Reorged
	late.Accepted, late.AcceptedAt = []string{late.Transfers[0].ID}, at.Add(72*time.Hour)
	pay(learned, "EURC", 100, "1", at.Add(5*time.Minute))
	for _, inv := range []*invoice.Invoice{gone, late, learned} {
		f.put(inv)
	}
	rows := rowsOf(t, f.close(t, "2026-12")[0].CSV, ',')
	type cells struct{ kind, invoice, amount, price, value, corrects string }
	var got []cells
	for _, r := range rows {
		got = append(got, cells{r["kind"], r["invoice"], r["amount"], r["price"], r["eur_value"], r["corrects"]})
	}
	want := []cells{
		{"payment", "inv_learned", "56.506977", "56.5", "56.51", ""},
		{"correction", "inv_gone", "-0.00065379", "-56.5", "-58.84", "2026-11/1"},
		{"correction", "inv_late", "", "56.5", "", "2026-11/2"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(cells{})); diff != "" {
		t.Errorf("December (-want +got):\n%s", diff)
	}
	for _, inv := range []*invoice.Invoice{gone, late, learned} {
		f.put(inv)
	}
	if again := f.close(t, "2027-01"); len(again[0].Lines) != 0 {
		t.Errorf("January: %+v", again[0].Lines)
	}
}

func TestClose_refuses_what_is_not_final(t *testing.T) {
	at := moment("2026-11-30T22:59:00Z") // the last minute of November in Berlin
	for name, change := range map[string]func(*invoice.Invoice){
		"payment": func(inv *invoice.Invoice) { pay(inv, "BTC", 100, "1", at).Confirmations = 1 },
		"refund": func(inv *invoice.Invoice) {
			pay(inv, "BTC", 100, "1", at.Add(-time.Hour))
			inv.Refunds = []invoice.Refund{{ID: "ref", State: invoice.RefundSent, Network: "bitcoin", Asset: "BTC", Amount: inv.Transfers[0].Amount, Payment: &invoice.RefundPayment{FirstSeen: at}}}
		},
		"sale": func(inv *invoice.Invoice) {
			pay(inv, "BTC", 100, "1", at.Add(-time.Hour))
			inv.Sales = []invoice.Sale{{Coin: "BTC", Orders: []invoice.SaleOrder{{State: invoice.OrderPlaced, SentAt: at}}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			inv := newInvoice("inv_a", at.Add(-2*time.Hour))
			change(inv)
			f.put(inv)
			if _, err := f.Close(t.Context(), f.shop, "2026-11", false); !errors.Is(err, books.ErrOpen) || !strings.Contains(err.Error(), name) {
				t.Errorf("Close() = %v, want %v with %s", err, books.ErrOpen, name)
			}
			files, err := f.Close(t.Context(), f.shop, "2026-11", true)
			if err != nil || len(f.changes) != 1 {
				t.Errorf("left open: error %v, %d invoices to examine again, want 1", err, len(f.changes))
			}
			lines := len(files[0].Lines)
			inv.Transfers[0].Confirmations, inv.Transfers[0].Required = 2, 2
			if len(inv.Refunds) > 0 {
				inv.Refunds[0].Payment = &invoice.RefundPayment{FirstSeen: at, Block: inv.Transfers[0].Block, Confirmations: 1, Required: 1}
			}
			if len(inv.Sales) > 0 {
				inv.Sales[0].Orders[0] = invoice.SaleOrder{Number: 1, State: invoice.OrderDone, SentAt: at, Sold: inv.Transfers[0].Amount}
			}
			f.put(inv)
			next := f.close(t, "2026-12")
			if got := next[0].Lines; len(got) != 1 || got[0].Kind == books.Correction || got[0].Date != "2026-11-30" || lines != len(inv.Refunds)+len(inv.Sales) { // November has only the payment that was final
				t.Errorf("December has %+v, after %d lines in November", got, lines)
			}
		})
	}
}

func TestClose_waits_for_the_end_of_the_month(t *testing.T) {
	f := newFixture(t)
	f.now = moment("2026-11-30T22:59:59Z")
	if _, err := f.Close(t.Context(), f.shop, "2026-11", false); !errors.Is(err, books.ErrNotOver) {
		t.Errorf("a second before: %v", err)
	}
	f.now = moment("2026-11-30T23:00:00Z")
	f.close(t, "2026-11")
}

// A draft has the content that closing would write.
func TestMonth_is_a_draft_before_it_is_closed(t *testing.T) {
	f := newFixture(t)
	at := moment("2026-11-03T10:00:00Z")
	inv := newInvoice("inv_a", at)
	pay(inv, "BTC", 100, "90000", at)
	f.put(inv)
	draft, err := f.Month(t.Context(), f.shop, "2026-11")
	if err != nil {
		t.Fatal(err)
	}
	closed := f.close(t, "2026-11")[0]
	stored, err := f.Month(t.Context(), f.shop, "2026-11")
	if err != nil {
		t.Fatal(err)
	}
	if draft.CSV != closed.CSV || stored.CSV != closed.CSV || draft.Statement != "" || stored.Statement != closed.Statement {
		t.Errorf("draft %+v\nclosed %+v\nstored %+v", draft, closed, stored)
	}
	if diff := cmp.Diff(closed.Lines, stored.Lines); diff != "" {
		t.Errorf("lines (-closed +stored):\n%s", diff)
	}
	if _, err := f.Month(t.Context(), f.shop, "2026-10"); !errors.Is(err, books.ErrNotClosed) {
		t.Errorf("a month before the books: %v", err)
	}
}

// sums returns the sum of each column of amounts, by asset.
func sums(t *testing.T, rows []map[string]string, columns ...string) map[string]string {
	t.Helper()
	totals := map[string]decimal.Decimal{}
	for _, r := range rows {
		for _, c := range columns {
			if text := strings.Replace(r[c], ",", ".", 1); text != "" {
				n, err := decimal.NewFromString(text)
				if err != nil {
					t.Fatal(err)
				}
				key := c + " " + r["asset"]
				totals[key] = totals[key].Add(n)
			}
		}
	}
	texts := map[string]string{}
	for key, total := range totals {
		texts[key] = total.String()
	}
	return texts
}

// The sums of a month are those of its payments, to the smallest unit and the cent, in each dialect, and after corrections.
func TestClose_of_a_month_with_10000_payments(t *testing.T) {
	f := newFixture(t)
	start := moment("2026-11-01T00:00:00Z")
	ledger := map[string]*big.Int{}
	value, prices := new(big.Rat), decimal.Decimal{}
	payments := 10_000
	if testing.Short() {
		payments = 1000
	}
	var all []*invoice.Invoice
	for i := range payments / 2 {
		at := start.Add(time.Duration(i) * 8 * time.Minute)
		inv := newInvoice(fmt.Sprintf("inv_%05d", i), at)
		codes := []string{"BTC", "EURC", "ETH"}
		part := int64(i%99 + 1)
		for n, percent := range []int64{part, 100 - part} {
			transfer := pay(inv, codes[(i+n)%3], percent, []string{"86421.37", "0.998123", "2871.99"}[(i+n)%3], at.Add(time.Duration(n)*time.Minute))
			code := transfer.Asset
			if ledger[code] == nil {
				ledger[code] = new(big.Int)
			}
			ledger[code].Add(ledger[code], transfer.Amount.Minor())
			value.Add(value, money.RoundHalfUp(transfer.Rate.Price.Value(transfer.Amount), money.EUR).Rat())
		}
		prices = prices.Add(decimal.RequireFromString("56.5"))
		f.put(inv)
		all = append(all, inv)
	}
	check := func(dialect string, rows []map[string]string) {
		t.Helper()
		got := sums(t, rows, "amount", "price", "eur_value")
		wantValue, total, price := decimal.RequireFromString(value.FloatString(2)), decimal.Decimal{}, decimal.Decimal{}
		for _, code := range []string{"BTC", "EURC", "ETH"} {
			if want := decimal.NewFromBigInt(ledger[code], -map[string]int32{"BTC": 8, "EURC": 6, "ETH": 18}[code]).String(); got["amount "+code] != want {
				t.Errorf("%s: %s %s, want %s", dialect, got["amount "+code], code, want)
			}
			total, price = total.Add(decimal.RequireFromString(got["eur_value "+code])), price.Add(decimal.RequireFromString(got["price "+code]))
		}
		if !total.Equal(wantValue) || !price.Equal(prices) {
			t.Errorf("%s: value %s and price %s, want %s and %s", dialect, total, price, wantValue, prices)
		}
	}
	file := f.close(t, "2026-11")[0]
	rows := rowsOf(t, file.CSV, ',')
	if len(rows) != payments {
		t.Fatalf("%d lines", len(rows))
	}
	check("csv", rows)
	options := books.DATEVOptions{Adviser: 1001, Client: 1, AccountLength: 4, Coins: "1360", Clearing: "1361"}
	excel, err := file.Export(books.ExcelDE, options, f.now)
	if err != nil {
		t.Fatal(err)
	}
	check("excel-de", rowsOf(t, string(excel[0].Content), ';'))
	bookings, err := file.Export(books.DATEV, options, f.now)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := sumOfBookings(t, bookings[0].Content), value.FloatString(2); got != want {
		t.Errorf("datev: %s, want %s", got, want)
	}

	for i, inv := range all {
		if i%100 != 0 {
			continue
		}
		transfer := &inv.Transfers[0]
		transfer.Presence = invoice.Reorged
		ledger[transfer.Asset].Sub(ledger[transfer.Asset], transfer.Amount.Minor())
		value.Sub(value, money.RoundHalfUp(transfer.Rate.Price.Value(transfer.Amount), money.EUR).Rat())
		for id, part := range inv.PriceParts() {
			if id == inv.Transfers[1].ID {
				prices = prices.Add(decimal.NewFromBigInt(part.Minor(), -2))
			}
		}
		prices = prices.Sub(decimal.RequireFromString("56.5"))
		f.put(inv)
	}
	december := f.close(t, "2026-12")[0]
	check("with corrections", append(rows, rowsOf(t, december.CSV, ',')...))
	if !slices.ContainsFunc(december.Lines, func(l books.Line) bool { return l.Kind == books.Correction }) {
		t.Error("December has no correction")
	}
}
