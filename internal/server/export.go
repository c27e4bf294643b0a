package server

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/invoice"
	"chequer/internal/money"
)

// exportWait is how long a caller may take to accept a page of an export.
const exportWait = time.Minute

// exportInvoices is GET invoices/export: all invoices of a filter, newest first,
// page by page, so that it takes as much memory for a million as for a hundred.
func (s *server) exportInvoices(c echo.Context, k call) error {
	f, format := mine(k), ""
	parameters := filters(&f)
	parameters["format"] = word(&format, "csv", "json")
	if err := query(c.Request().URL.RawQuery, parameters); err != nil {
		return err
	}
	if format == "" {
		return invalid("format", "is required")
	}
	ctx := c.Request().Context()
	page, err := s.invoices.Invoices(ctx, f, invoice.Place{}, maxPage)
	if err != nil {
		return err
	}
	header := c.Response().Header()
	header.Set("Content-Disposition", `attachment; filename="invoices.`+format+`"`)
	var out sheet = newJSONSheet(c.Response())
	header.Set("Content-Type", "application/json")
	if format == "csv" {
		out = newCSVSheet(c.Response())
		header.Set("Content-Type", "text/csv; charset=utf-8; header=present")
	}
	c.Response().WriteHeader(http.StatusOK)
	if c.Request().Method == http.MethodHead {
		return nil
	}
	if err := s.export(ctx, c, out, f, page); err != nil {
		s.log.Warn("export broke off", "error", err)
		panic(http.ErrAbortHandler) // a whole answer would pass for all there is
	}
	return nil
}

// export writes a page and all behind it.
func (s *server) export(ctx context.Context, c echo.Context, out sheet, f invoice.Filter, page []*invoice.Invoice) error {
	control := http.NewResponseController(c.Response())
	for {
		_ = control.SetWriteDeadline(time.Now().Add(exportWait)) // where there is no deadline none need be moved
		for _, inv := range page {
			if err := out.write(Resource(s.invoices, inv, nil)); err != nil {
				return err
			}
		}
		if len(page) < maxPage {
			return out.end()
		}
		var err error
		if page, err = s.invoices.Invoices(ctx, f, page[len(page)-1].Place(), maxPage); err != nil {
			return err
		}
	}
}

// sheet is a file that invoices are written to, one by one.
type sheet interface {
	write(api.Resource) error
	end() error
}

// jsonSheet is one JSON array of our own resources.
type jsonSheet struct {
	to     io.Writer
	before string
}

func newJSONSheet(to io.Writer) *jsonSheet { return &jsonSheet{to: to, before: "["} }

func (s *jsonSheet) write(r api.Resource) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = s.to.Write(append([]byte(s.before), text...))
	s.before = ",\n"
	return err
}

func (s *jsonSheet) end() error {
	if s.before == "[" { // nothing was written
		_, err := io.WriteString(s.to, "[]")
		return err
	}
	_, err := io.WriteString(s.to, "]")
	return err
}

// csvSheet is a table for spreadsheets. See RFC 4180.
type csvSheet struct{ to *csv.Writer }

// csvColumns are its first row, and the order of every other.
var csvColumns = []string{
	"created_at", "foreign_id", "mode", "order_id", "description", "status", "exceptions",
	"client_amount", "client_currency", "paid_amount", "due_amount", "overpaid_amount",
	"paid_at", "paid_currency", "paid_tx", "received", "refund_currency", "refund_address", "note",
	"disable_convert", "converted", "converted_eur", "conversion_fee_eur", "conversion_price_eur",
	"tolerance_amount", "paid_count", "first_paid_at", "accepted_at", "accepted_by", "shortfall",
}

func newCSVSheet(to io.Writer) *csvSheet {
	w := csv.NewWriter(to)
	w.UseCRLF = true
	_ = w.Write(csvColumns) // buffered: a fault shows at the first flush
	return &csvSheet{to: w}
}

func (s *csvSheet) write(r api.Resource) error {
	var received []string
	for _, p := range r.Payments {
		if p.State == string(invoice.PaymentConfirmed) || p.State == string(invoice.PaymentSeen) || p.State == string(invoice.PaymentLate) {
			received = append(received, p.Amount+" "+p.CryptoCurrency)
		}
	}
	sold, euro, fee, price := sales(r)
	row := []string{
		r.CreatedAt, r.ForeignID, r.Mode, r.OrderID, r.Description, r.Status, strings.Join(r.Exceptions, " "),
		r.ClientAmount, r.ClientCurrency, r.PaidAmount, r.DueAmount, r.OverpaidAmount,
		r.PaidAt, r.PaidCurrency, r.PaidTx, strings.Join(received, "; "), r.RefundCurrency, r.RefundAddress,
		r.Metadata[api.MetadataNote],
		strconv.FormatBool(r.DisableConvert), sold, euro, fee, price,
		r.ToleranceAmount, strconv.FormatInt(r.PaidCount, 10), r.FirstPaidAt, r.Accepted.At, r.Accepted.Actor, r.Accepted.Shortfall,
	}
	for i, cell := range row {
		row[i] = inert(cell)
	}
	return s.to.Write(row)
}

// sales are what was sold of an invoice's money: amounts by coin, what they brought
// in euro and the fees of all, and the price of each coin.
func sales(r api.Resource) (sold, euro, fee, price string) {
	var amounts, prices []string
	brought, fees := money.Zero(invoice.SaleEuro), money.Zero(invoice.SaleEuro)
	for _, c := range r.Conversions {
		if c.SoldAmount == "0" {
			continue
		}
		amounts = append(amounts, c.SoldAmount+" "+c.CryptoCurrency)
		prices = append(prices, c.AveragePrice)
		for _, f := range []struct {
			text string
			sum  *money.Amount
		}{{c.EuroAmount, &brought}, {c.FeeAmount, &fees}} {
			if part, err := money.Parse(f.text, invoice.SaleEuro); err == nil { // it is ours, and always one
				*f.sum = f.sum.Add(part)
			}
		}
	}
	if len(amounts) == 0 {
		return "", "", "", ""
	}
	return strings.Join(amounts, "; "), brought.String(), fees.String(), strings.Join(prices, "; ")
}

func (s *csvSheet) end() error {
	s.to.Flush()
	return s.to.Error()
}

// inert is a cell that no spreadsheet takes for a formula: an order number that a
// stranger chose could send the whole sheet away. See OWASP, "CSV Injection".
func inert(cell string) string {
	if cell != "" && strings.ContainsRune("=+-@\t\r\n", rune(cell[0])) {
		cell = "'" + cell
	}
	return newCell.ReplaceAllString(cell, "$1'$2")
}

// newCell is where a spreadsheet that separates cells otherwise, as by the
// semicolon that most of Europe uses, would begin one, and in it a formula.
var newCell = regexp.MustCompile(`([;,|\t\r\n]["' ]*)([=+@-])`)
