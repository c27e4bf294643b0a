// Package books has the books of a shop: a line for each movement of money, and the closing of months. A closed month is never edited: what
// changes afterwards is a correction in the month that is closed next.
package books

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"chequer/internal/format"
	"chequer/internal/report"
)

// Kind is the kind of a movement.
type Kind string

// The kinds of lines.
const (
	// Payment is a confirmed transfer to an address of an invoice that counts for the invoice.
	Payment Kind = "payment"
	// Unassigned is a confirmed transfer to an address of an invoice that does not count for the invoice: it is late, of another asset, or
	// the merchant has to decide about it.
	Unassigned Kind = "unassigned"
	// Refund is a refund that the merchant has paid.
	Refund Kind = "refund"
	// Conversion is the sale of coins for euro at an exchange.
	Conversion Kind = "conversion"
	// Sweep is the movement from an address of an invoice to an address of the merchant.
	Sweep Kind = "sweep"
	// Correction is the difference between a closed line and what is known now.
	Correction Kind = "correction"
)

// Line is a line of the books. Empty cells have the zero value. Amounts that leave the shop are negative.
type Line struct {
	Number int
	Kind   Kind
	// Date is the day of ReceivedAt in the time zone of the books.
	Date string
	// ReceivedAt is when a payment was first seen, a refund was paid, an order was sent to the exchange, or the server recorded that a row of
	// a sweep was moved.
	ReceivedAt, BlockTime, ConfirmedAt time.Time
	OrderID, Invoice, Product          string
	Network, Asset                     string
	Amount                             decimal.NullDecimal
	Address, Tx, Output                string
	// Price is the part of the price of the invoice that a payment pays.
	Price         decimal.NullDecimal
	PriceCurrency string
	// EURValue is the value of Amount in euro. Rate is in euro per coin.
	EURValue   decimal.NullDecimal
	Rate       decimal.NullDecimal
	RateSource string
	RateAt     time.Time
	// VATRate is that of the product, and Net and VAT are the parts of Price; empty if the product states none.
	VATRate, Net, VAT decimal.NullDecimal
	// FeeAmount is the fee of a network for a row of a sweep, in FeeAsset.
	FeeAmount decimal.NullDecimal
	FeeAsset  string
	FeeEUR    decimal.NullDecimal // the value of FeeAmount in euro
	// Sold is the amount of coins sold at an exchange, Euro the price for which they were sold, before ConversionFee.
	Sold, Euro, ConversionFee decimal.NullDecimal
	RefundOf, Sweep           string // identifiers of an invoice, and of a sweep
	Corrects                  string // month/number of the corrected line
	Exceptions                string
}

// column is a column of the books. One of the functions is set.
type column struct {
	name   string
	number func(*Line) *decimal.NullDecimal
	text   func(*Line) *string
	moment func(*Line) *time.Time
	// isSum is true for the amounts, which a correction states as differences. Other numbers are facts.
	isSum bool
}

// columns are the columns after the number and the kind, in order.
var columns = []column{
	{name: "date", text: func(l *Line) *string { return &l.Date }},
	{name: "received_at", moment: func(l *Line) *time.Time { return &l.ReceivedAt }},
	{name: "block_time", moment: func(l *Line) *time.Time { return &l.BlockTime }},
	{name: "confirmed_at", moment: func(l *Line) *time.Time { return &l.ConfirmedAt }},
	{name: "order_id", text: func(l *Line) *string { return &l.OrderID }},
	{name: "invoice", text: func(l *Line) *string { return &l.Invoice }},
	{name: "product", text: func(l *Line) *string { return &l.Product }},
	{name: "network", text: func(l *Line) *string { return &l.Network }},
	{name: "asset", text: func(l *Line) *string { return &l.Asset }},
	{name: "amount", number: func(l *Line) *decimal.NullDecimal { return &l.Amount }, isSum: true},
	{name: "address", text: func(l *Line) *string { return &l.Address }},
	{name: "tx", text: func(l *Line) *string { return &l.Tx }},
	{name: "output", text: func(l *Line) *string { return &l.Output }},
	{name: "price", number: func(l *Line) *decimal.NullDecimal { return &l.Price }, isSum: true},
	{name: "price_currency", text: func(l *Line) *string { return &l.PriceCurrency }},
	{name: "eur_value", number: func(l *Line) *decimal.NullDecimal { return &l.EURValue }, isSum: true},
	{name: "rate", number: func(l *Line) *decimal.NullDecimal { return &l.Rate }},
	{name: "rate_source", text: func(l *Line) *string { return &l.RateSource }},
	{name: "rate_at", moment: func(l *Line) *time.Time { return &l.RateAt }},
	{name: "vat_rate", number: func(l *Line) *decimal.NullDecimal { return &l.VATRate }},
	{name: "net", number: func(l *Line) *decimal.NullDecimal { return &l.Net }, isSum: true},
	{name: "vat", number: func(l *Line) *decimal.NullDecimal { return &l.VAT }, isSum: true},
	{name: "fee_amount", number: func(l *Line) *decimal.NullDecimal { return &l.FeeAmount }, isSum: true},
	{name: "fee_asset", text: func(l *Line) *string { return &l.FeeAsset }},
	{name: "fee_eur", number: func(l *Line) *decimal.NullDecimal { return &l.FeeEUR }, isSum: true},
	{name: "sold", number: func(l *Line) *decimal.NullDecimal { return &l.Sold }, isSum: true},
	{name: "euro", number: func(l *Line) *decimal.NullDecimal { return &l.Euro }, isSum: true},
	{name: "conversion_fee", number: func(l *Line) *decimal.NullDecimal { return &l.ConversionFee }, isSum: true},
	{name: "refund_of", text: func(l *Line) *string { return &l.RefundOf }},
	{name: "sweep", text: func(l *Line) *string { return &l.Sweep }},
	{name: "corrects", text: func(l *Line) *string { return &l.Corrects }},
	{name: "exceptions", text: func(l *Line) *string { return &l.Exceptions }},
}

// names returns the names of all columns.
func names() []string {
	list := []string{"line", "kind"}
	for _, c := range columns {
		list = append(list, c.name)
	}
	return list
}

// header returns the first row of the canonical form.
func header() string { return csvRecord(names(), ',') }

// layout is the format of times: UTC with three fractional digits.
const layout = "2006-01-02T15:04:05.000Z"

// cells returns the cells of a line. Texts that a spreadsheet would read as a formula are quoted.
func (l *Line) cells(number func(string) string) []string {
	cells := []string{strconv.Itoa(l.Number), string(l.Kind)}
	for _, c := range columns {
		cell := ""
		switch {
		case c.text != nil:
			cell = format.InertCell(*c.text(l))
		case c.moment != nil:
			if at := *c.moment(l); !at.IsZero() {
				cell = at.UTC().Format(layout)
			}
		default:
			if n := *c.number(l); n.Valid {
				cell = number(n.Decimal.String())
			}
		}
		cells = append(cells, cell)
	}
	return cells
}

// record returns the line in the canonical form: CSV as in RFC 4180, in UTC, with decimal points.
func (l *Line) record() string {
	return csvRecord(l.cells(func(text string) string { return text }), ',')
}

// csvRecord returns a row of CSV with CR LF at its end.
func csvRecord(cells []string, comma rune) string {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Comma, w.UseCRLF = comma, true
	_ = w.Write(cells) // bytes.Buffer returns no error
	w.Flush()
	return b.String()
}

// errLine means that a stored line cannot be parsed.
var errLine = errors.New("not a line of the books that this release can read")

// parseRecord parses a line in the canonical form. head is the header of its file, which may be of an older release with fewer columns.
func parseRecord(head, record string) (Line, error) {
	r := csv.NewReader(strings.NewReader(head + record))
	rows, err := r.ReadAll()
	if err != nil || len(rows) != 2 || len(rows[0]) < 2 {
		return Line{}, cmp.Or(err, errLine)
	}
	l := Line{Kind: Kind(rows[1][1])}
	if l.Number, err = strconv.Atoi(rows[1][0]); err != nil {
		return Line{}, fmt.Errorf("%w: %w", errLine, err)
	}
	for i, name := range rows[0][2:] {
		at := slices.IndexFunc(columns, func(c column) bool { return c.name == name })
		if at < 0 {
			return Line{}, fmt.Errorf("%w: it has the column %q of a newer release", errLine, name)
		}
		if err := columns[at].set(&l, rows[1][i+2]); err != nil {
			return Line{}, fmt.Errorf("%w: %s: %w", errLine, name, err)
		}
	}
	return l, nil
}

// set sets the cell of a line.
func (c column) set(l *Line, cell string) (err error) {
	switch {
	case cell == "":
	case c.text != nil:
		*c.text(l) = cell
	case c.moment != nil:
		*c.moment(l), err = time.Parse(layout, cell)
	default:
		n := c.number(l)
		n.Decimal, err = decimal.NewFromString(cell)
		n.Valid = err == nil
	}
	return err
}

// dateOf returns the day of a time in a zone.
func dateOf(at time.Time, zone *time.Location) string {
	return report.DayOf(at, zone).String()
}
