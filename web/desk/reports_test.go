package desk_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"chequer/internal/account"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/report"
)

// reportStorage is the storage of the reports. With an error in failure, an export reads a first page of made-up
// lines, and the error at the second.
type reportStorage struct {
	report.Storage
	failure error
}

func (s *reportStorage) PaidLines(ctx context.Context, merchantID string, mode invoice.Mode, from, until time.Time, after report.Position, limit int) ([]invoice.ExportLine, error) {
	switch {
	case s.failure == nil:
		return s.Storage.PaidLines(ctx, merchantID, mode, from, until, after, limit)
	case after != (report.Position{}):
		return nil, s.failure
	}
	price := money.MustParse("40", money.EUR)
	zero := money.Zero(money.EUR)
	line := invoice.ExportLine{Summary: invoice.Summary{ID: "a", Status: invoice.Paid, Price: price, Paid: price, Due: zero, Overpaid: zero, PaidAt: from}, Tolerance: zero}
	lines := make([]invoice.ExportLine, limit)
	for i := range lines {
		lines[i] = line
	}
	return lines, nil
}

// salesOfTwoMonths creates paid invoices of the shop in two months: 40.00 on 27 November, 80.00 and 20.00 on
// 4 December. An invoice of another shop and an unpaid one must not be counted. It returns a session of a bookkeeper.
func (f *fixture) salesOfTwoMonths() *browser {
	f.t.Helper()
	f.owner()
	s := f.testInvoices
	s.settle(s.sell(shop, "1", "40.00"), "0.0005")
	s.settle(s.sell("other", "2", "80.00"), "0.001")
	f.clock.Advance(7 * 24 * time.Hour)
	s.settle(s.sell(shop, "3", "80.00"), "0.001")
	s.settle(s.sell(shop, "4", "20.00"), "0.0003")
	s.sell(shop, "5", "80.00")
	return f.as("Runa", account.Bookkeeper)
}

func TestReports_show_totals_per_period_and_grouping(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.salesOfTwoMonths()
	const at = "/desk/shop/reports?mode=test"
	page := b.get(at).want(http.StatusOK, "1 Dec 2026 to 31 Dec 2026 By the day of payment. Compared to 1 Nov 2026 to 4 Nov 2026.")
	if got, want := page.totals(), "Received €100.00 €0.00 in the period before Payments 2 0 in the period before Prices €100.00 Not received €0.00 accepted, or within the tolerance"; got != want {
		t.Errorf("the totals are %q, want %q", got, want)
	}
	if got := page.find(".chart title").Length(); got != 31 {
		t.Errorf("the chart of December has %d bars", got)
	}
	table := func(query string) string {
		t.Helper()
		return textOf(b.get(at+"&"+query).want(http.StatusOK, "Reports").find("section > .tw tr"))
	}
	for query, want := range map[string]string{
		"period=2026-12-04":                         "Method Payments Share Received Period before Bitcoin 2 100.0 % €100.00 €0.00 Total 2 100.0 % €100.00 €0.00",
		"period=2026-q4":                            "Method Payments Share Received Period before Bitcoin 3 100.0 % €140.00 €0.00 Total 3 100.0 % €140.00 €0.00",
		"period=2026&by=link":                       "Checkout link Payments Share Received Period before prints 3 100.0 % €140.00 €0.00 Total 3 100.0 % €140.00 €0.00",
		"period=2026&by=product":                    "Product Payments Share Received Period before Other payments 3 100.0 % €140.00 €0.00 Total 3 100.0 % €140.00 €0.00",
		"period=2026-12&by=origin":                  "Origin Payments Share Received Period before Checkout link 2 100.0 % €100.00 €0.00 Total 2 100.0 % €100.00 €0.00",
		"period=2025":                               "",
		"period=days":                               "Method Payments Share Received Period before Bitcoin 3 100.0 % €140.00 €0.00 Total 3 100.0 % €140.00 €0.00",
		"period=days&from=2026-11-27&to=2026-12-03": "Method Payments Share Received Period before Bitcoin 1 100.0 % €40.00 €0.00 Total 1 100.0 % €40.00 €0.00",
		"period=days&from=2026-11-28&to=2026-12-04": "Method Payments Share Received Period before Bitcoin 2 100.0 % €100.00 €40.00 Total 2 100.0 % €100.00 €40.00",
	} {
		if got := table(query); got != want {
			t.Errorf("%s has the table %q, want %q", query, got, want)
		}
	}
	if page := b.get(at+"&period=2025").want(http.StatusOK, "No payments in this period."); page.find(".kpi, .tw, .chart").Length() != 0 {
		t.Errorf("a year without payments has figures: %s", page.text())
	}
	b.get(at+"&period=2026-05-17").want(http.StatusOK, "17 May 2026 By the day of payment. Compared to 16 May 2026.")
}

// A report by product, terminal or API key shows the merchant's name of a source beside its slug or identifier.
func TestReports_names_sources(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	f.testInvoices.settle(f.testInvoices.sell(shop, "1", "40.00"), "0.0005")
	key, err := f.merchants.CreateKey(t.Context(), shop, merchant.Test, []merchant.Scope{merchant.ScopeRead}, "Web shop")
	f.must(err)
	bar, err := f.terminals.Create(t.Context(), merchant.Terminal{MerchantID: shop, Mode: merchant.Test, Name: "Bar", Currency: "EUR"})
	f.must(err)
	soap := f.addProduct("soap", "Olive soap", "80.00")
	for _, tt := range []struct {
		by, name, detail string
		origin           invoice.Origin
	}{
		{"key", "Web shop", key.Key[:8] + "…", invoice.Origin{Kind: invoice.FromAPI, ID: key.ID}},
		{"terminal", "Bar", bar.ID, invoice.Origin{Kind: invoice.FromTerminal, ID: bar.ID}},
		{"product", "Olive soap", soap.Slug, invoice.Origin{Kind: invoice.FromProduct, ID: soap.Slug}},
	} {
		f.clock.Advance(time.Second)
		inv, err := f.testInvoices.Create(t.Context(), invoice.CreateRequest{
			MerchantID: shop, Mode: invoice.Test, Wallets: f.testInvoices.wallets, ExpiresIn: 15 * time.Minute, Origin: tt.origin,
			Terms: invoice.Terms{Price: money.MustParse("80.00", money.EUR), Rules: invoice.DefaultRules(money.EUR)},
		})
		f.must(err)
		f.testInvoices.settle(inv, "0.001")
		got := textOf(b.get("/desk/shop/reports?mode=test&by="+tt.by).want(http.StatusOK, "Received by").find("section > .tw tbody tr"))
		if want := tt.name + " " + tt.detail + " 1 "; !strings.Contains(got, want) || !strings.Contains(got, "Other payments") {
			t.Errorf("the table is %q, want %q and a row of other payments", got, want)
		}
	}
}

// A query that is wrong is answered with the reason at the field, and the values are kept.
func TestReports_refuses_invalid_queries(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	for query, want := range map[string]string{
		"period=2026-13":  "There is no such period.",
		"period=tomorrow": "There is no such period.",
		"by=weather":      "There is no such choice.",
		"period=days&from=2026-11-31&to=2026-12-01": "Enter a day such as 2026-11-29.",
		"period=days&from=2026-11-30":               "Enter a day such as 2026-11-29.",
		"period=days&from=2026-11-30&to=2026-11-01": "The last day is before the first.",
		"period=days&from=2024-01-01&to=2026-11-01": "A period has at most 366 days.",
	} {
		page := b.get("/desk/shop/reports?"+query).want(http.StatusUnprocessableEntity, want)
		if page.find("[aria-invalid=true]").Length() != 1 || page.find(".kpi").Length() != 0 {
			t.Errorf("%s: %s", query, page.text())
		}
		if !strings.HasPrefix(query, "by=") {
			b.get("/desk/shop/reports/export?" + query).want(http.StatusBadRequest)
		}
	}
	if page := b.get("/desk/shop/reports?period=days&from=2026-11-30&to=2026-11-01"); page.find("input[name=from]").AttrOr("value", "") != "2026-11-30" {
		t.Errorf("the first day is not kept: %s", page.body)
	}
	b.get("/desk/shop/reports/export?format=xml").want(http.StatusBadRequest)
}

// The file has the invoices of the report, and its sums are those of the report.
func TestReports_export_the_invoices_of_the_report(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.salesOfTwoMonths()
	form := b.get("/desk/shop/reports?mode=test&period=2026-12").want(http.StatusOK, "The file has the 2 invoices").find(`form[action$="/export"]`)
	query := "?"
	form.Find("input").Each(func(_ int, s *selection) { query += s.AttrOr("name", "") + "=" + s.AttrOr("value", "") + "&" })
	page := b.get("/desk/shop/reports/export" + query + "format=csv")
	if got, want := page.header.Get("Content-Disposition"), `attachment; filename="paid-test-2026-12-01-to-2026-12-31.csv"`; page.status != http.StatusOK || got != want {
		t.Fatalf("answer %d, disposition %q, want %q", page.status, got, want)
	}
	rows, err := csv.NewReader(strings.NewReader(page.body)).ReadAll()
	f.must(err)
	var orders []string
	sum := money.Zero(money.EUR)
	for _, row := range rows[1:] {
		orders, sum = append(orders, row[3]), sum.Add(money.MustParse(row[9], money.EUR))
	}
	if got, want := strings.Join(orders, " ")+" "+sum.String(), "3 4 100"; got != want {
		t.Errorf("the file has the orders and the sum %q, want %q", got, want)
	}
	for format, want := range map[string]string{"excel": "\ufeffcreated_at,", "excel-comma": "\ufeffcreated_at;"} {
		if got := b.get("/desk/shop/reports/export" + query + "format=" + format).body; !strings.HasPrefix(got, want) {
			t.Errorf("%s begins with %q, want %q", format, got[:min(20, len(got))], want)
		}
	}
	if got := b.do(http.MethodHead, "/desk/shop/reports/export"+query, nil); got.status != http.StatusOK || got.body != "" {
		t.Errorf("HEAD: %d %q", got.status, got.body)
	}
}

// An export that fails after it has begun ends the connection, so that no client takes a part for the
// whole file, with and without compression.
func TestReports_export_interrupted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	f.reports.failure = errors.New("disk on fire")
	server := httptest.NewServer(f.desk)
	defer server.Close()
	for _, encoding := range []string{"identity", "gzip"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/desk/shop/reports/export", nil)
		f.must(err)
		r.Host = b.host
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("Accept-Encoding", encoding)
		for _, c := range b.cookies {
			r.AddCookie(c)
		}
		answer, err := server.Client().Do(r)
		if err != nil { // aborted before the first byte
			continue
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err == nil || answer.StatusCode != http.StatusOK {
			t.Errorf("%s: got status %d, %d bytes, error %v; want status 200 and an error", encoding, answer.StatusCode, len(body), err)
		}
		if encoding == "gzip" {
			if z, err := gzip.NewReader(bytes.NewReader(body)); err == nil {
				if text, err := io.ReadAll(z); err == nil {
					t.Errorf("the compressed part of %d bytes looks complete", len(text))
				}
			}
		}
	}
	f.log.mu.Lock()
	defer f.log.mu.Unlock()
	if got := f.log.text.String(); strings.Count(got, "export aborted") != 2 || strings.Contains(got, "desk panicked") {
		t.Errorf("log:\n%s", got)
	}
}
