package wire

import (
	"encoding/csv"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"chequer/internal/format"
	"chequer/internal/invoice"
	"chequer/internal/money"
)

// CSVStyle is the format of a CSV file. The zero value is for programs: commas, decimal points, and
// times in UTC.
type CSVStyle struct {
	Delimiter string         // comma, semicolon or tab
	Decimal   string         // point or comma
	BOM       string         // true or false
	Zone      *time.Location // nil leaves times in UTC
	Offsets   bool           // times in Zone are those of RFC 3339 with their offset
	NamesZone bool           // the last column has the name of Zone
}

var delimiters = map[string]rune{"": ',', "comma": ',', "semicolon": ';', "tab": '\t'}

// number formats the text of an amount or a rate in the style.
func (s CSVStyle) number(text string) string {
	if s.Decimal == "comma" {
		return strings.Replace(text, ".", ",", 1)
	}
	return text
}

// amount formats an amount in the style.
func (s CSVStyle) amount(a money.Amount) string { return s.number(a.String()) }

// rfc3339Milli is the layout of times of the API in other zones than UTC.
const rfc3339Milli = "2006-01-02T15:04:05.000-07:00"

// moment formats a time in the style. With a time zone and without offsets it uses the format that spreadsheets read
// as a time.
func (s CSVStyle) moment(t time.Time) string {
	if s.Zone == nil || t.IsZero() {
		return Time(t)
	}
	if s.Offsets {
		return t.In(s.Zone).Format(rfc3339Milli)
	}
	return t.In(s.Zone).Format(time.DateTime)
}

// CSV writes invoices as CSV. See RFC 4180.
type CSV struct {
	to    *csv.Writer
	style CSVStyle
}

// csvColumns are the names of the columns, in order.
var csvColumns = []string{
	"created_at", "foreign_id", "mode", "order_id", "description", "status", "exceptions",
	"client_amount", "client_currency", "paid_amount", "due_amount", "overpaid_amount",
	"paid_at", "paid_currency", "paid_tx", "received", "refund_currency", "refund_address", "note",
	"disable_convert", "converted", "converted_eur", "conversion_fee_eur", "conversion_price_eur",
	"tolerance_amount", "paid_count", "first_paid_at", "accepted_at", "accepted_by", "shortfall",
}

// NewCSV returns a new CSV and writes its header row. Close returns an error of that write.
func NewCSV(to io.Writer, style CSVStyle) *CSV {
	w := csv.NewWriter(to)
	w.UseCRLF = true
	w.Comma = delimiters[style.Delimiter]
	header := slices.Clone(csvColumns)
	if style.BOM == "true" {
		header[0] = "\ufeff" + header[0]
	}
	if style.NamesZone {
		header = append(header, "time_zone")
	}
	_ = w.Write(header) // buffered
	return &CSV{to: w, style: style}
}

// Write writes the row of an invoice.
func (c *CSV) Write(l invoice.ExportLine) error {
	amount, moment := c.style.amount, c.style.moment
	received := make([]string, len(l.Received))
	for i, r := range l.Received {
		received[i] = amount(r.Amount) + " " + r.Asset
	}
	paidAsset, paidTx := l.PaidAsset, l.PaidTx
	if l.Status != invoice.Paid {
		paidAsset, paidTx = "", ""
	}
	sold, euro, fee, price := c.proceeds(l.Sales)
	row := []string{
		moment(l.CreatedAt), l.ID, string(l.Mode), literal(l.OrderID), literal(l.Description), string(l.Status), strings.Join(texts(l.Exceptions), " "),
		amount(l.Price), l.Price.Currency().Code, amount(l.Paid), amount(l.Due), amount(l.Overpaid),
		moment(l.PaidAt), paidAsset, paidTx, strings.Join(received, "; "), l.RefundAddress.Asset, l.RefundAddress.Address,
		literal(l.Note), strconv.FormatBool(l.DisableSale), sold, euro, fee, price,
		amount(l.Tolerance), strconv.FormatInt(l.PaidCount, 10), moment(l.FirstPaidAt), moment(l.AcceptedAt), l.AcceptedBy, amount(l.Shortfall()),
	}
	if c.style.NamesZone {
		row = append(row, c.style.Zone.String())
	}
	for i, cell := range row {
		row[i] = format.InertCell(cell)
	}
	return c.to.Write(row)
}

// Close writes the rows that are still buffered.
func (c *CSV) Close() error {
	c.to.Flush()
	return c.to.Error()
}

// proceeds returns the sold amount of each coin of an invoice, the sums of the proceeds and fees in
// euro, and the price of each coin.
func (c *CSV) proceeds(sales []invoice.Sale) (sold, euro, fee, price string) {
	var amounts, prices []string
	euros, fees := money.Zero(invoice.SaleEuro), money.Zero(invoice.SaleEuro)
	for i := range sales {
		part := sales[i].Sold()
		if part.Sold.IsZero() {
			continue
		}
		amounts = append(amounts, c.style.amount(part.Sold)+" "+sales[i].Coin)
		prices = append(prices, c.style.number(sales[i].Average()))
		euros, fees = euros.Add(part.Euro), fees.Add(part.Fee)
	}
	if len(amounts) == 0 {
		return "", "", "", ""
	}
	return strings.Join(amounts, "; "), c.style.amount(euros), c.style.amount(fees), strings.Join(prices, "; ")
}

// literal quotes a text that a spreadsheet would change: a number with more digits than it keeps,
// with leading zeros, or with an exponent; or a text that it reads as a date or a time of day.
func literal(text string) string {
	if text == "" || text[0] < '0' || text[0] > '9' { // every such text begins with a digit
		return text
	}
	if alteredNumber.MatchString(text) || likeDate.MatchString(text) {
		return "'" + text
	}
	return text
}

// alteredNumber matches a number that a spreadsheet would change.
var alteredNumber = regexp.MustCompile(`^(\d{12,}|0\d+|\d+([.,]\d+)?[eE][+-]?\d+)$`)

// likeDate matches a text that a spreadsheet in some language reads as a date, with or without its
// year or its day, or as a time of day. A year has four digits, or two at the end.
var likeDate = regexp.MustCompile(`^(` +
	`(0?[1-9]|[1-3]\d)[-/.](\d{1,2}|(19|20)\d\d)|` +
	`(19|20)\d\d[-/.]\d{1,2}([-/.]\d{1,2})?|` +
	`\d{1,2}[-/.]\d{1,2}[-/.](\d{2}|(19|20)\d\d)|` +
	`\d{1,2}:\d{2}(:\d{2})?)$`)
