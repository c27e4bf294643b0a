package books

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"

	"chequer/internal/report"
)

// DATEVOptions are needed for a batch of bookings beside the books. Only the fiscal year has a default.
type DATEVOptions struct {
	Adviser       int // number of the tax adviser, from 1001
	Client        int // number of the client, from 1
	AccountLength int // digits of the accounts in the ledger, from 4 to 8
	// FiscalYear is the first day of the fiscal year; zero is 1 January.
	FiscalYear time.Time
	// Coins is the account of received coins, and Clearing that against which payments and refunds are booked. Exchange is the account of the
	// euro at the exchange, and Fees that of its fees; both are needed only for months with conversions.
	Coins, Clearing, Exchange, Fees string
}

// Accounts are the names of the accounts of DATEVOptions.
var Accounts = []string{"coins", "clearing", "exchange", "fees"}

// Account returns the account with a name; nil if there is no such name.
func (o *DATEVOptions) Account(name string) *string {
	return map[string]*string{"coins": &o.Coins, "clearing": &o.Clearing, "exchange": &o.Exchange, "fees": &o.Fees}[name]
}

var accountNumber = regexp.MustCompile(`^[1-9][0-9]*$`)

// check returns an error that names every option that is missing or wrong.
func (o *DATEVOptions) check(needsConversions bool) error {
	var errs []error
	inRange := func(name string, n, lowest, highest int) {
		if n < lowest || n > highest {
			errs = append(errs, fmt.Errorf("%s must be a number from %d to %d", name, lowest, highest))
		}
	}
	inRange("adviser", o.Adviser, 1001, 9999999)
	inRange("client", o.Client, 1, 99999)
	inRange("account length", o.AccountLength, 4, 8)
	for i, name := range Accounts {
		number, isNeeded := *o.Account(name), i < 2 || needsConversions
		digits := len(number)
		isNumber := accountNumber.MatchString(number)
		switch {
		case number == "" && isNeeded:
			errs = append(errs, fmt.Errorf("the account %s is missing", name))
		case number != "" && (!isNumber || digits != o.AccountLength && digits != o.AccountLength+1):
			errs = append(errs, fmt.Errorf("the account %s, %q, must be a number without leading zeros of %d digits, or %d for a person", name, number, o.AccountLength, o.AccountLength+1))
		}
	}
	return errors.Join(errs...)
}

// datevColumns returns the names of the columns of a batch, format version 13. See developer.datev.de, "Buchungsstapel".
func datevColumns() []string {
	list := strings.Split("Umsatz (ohne Soll/Haben-Kz)|Soll/Haben-Kennzeichen|WKZ Umsatz|Kurs|Basis-Umsatz|WKZ Basis-Umsatz|Konto|"+
		"Gegenkonto (ohne BU-Schlüssel)|BU-Schlüssel|Belegdatum|Belegfeld 1|Belegfeld 2|Skonto|Buchungstext|Postensperre|Diverse Adressnummer|"+
		"Geschäftspartnerbank|Sachverhalt|Zinssperre|Beleglink", "|")
	repeat := func(times int, first, second string) {
		for i := range times {
			list = append(list, first+" "+strconv.Itoa(i+1), second+" "+strconv.Itoa(i+1))
		}
	}
	repeat(8, "Beleginfo - Art", "Beleginfo - Inhalt")
	list = append(list, strings.Split("KOST1 - Kostenstelle|KOST2 - Kostenstelle|Kost-Menge|EU-Land u. UStID (Bestimmung)|EU-Steuersatz (Bestimmung)|"+
		"Abw. Versteuerungsart|Sachverhalt L+L|Funktionsergänzung L+L|BU 49 Hauptfunktionstyp|BU 49 Hauptfunktionsnummer|BU 49 Funktionsergänzung", "|")...)
	repeat(20, "Zusatzinformation - Art", "Zusatzinformation - Inhalt")
	return append(list, strings.Split("Stück|Gewicht|Zahlweise|Forderungsart|Veranlagungsjahr|Zugeordnete Fälligkeit|Skontotyp|Auftragsnummer|Buchungstyp|"+
		"USt-Schlüssel (Anzahlungen)|EU-Land (Anzahlungen)|Sachverhalt L+L (Anzahlungen)|EU-Steuersatz (Anzahlungen)|Erlöskonto (Anzahlungen)|Herkunft-Kz|"+
		"Buchungs GUID|KOST-Datum|SEPA-Mandatsreferenz|Skontosperre|Gesellschaftername|Beteiligtennummer|Identifikationsnummer|Zeichnernummer|"+
		"Postensperre bis|Bezeichnung SoBil-Sachverhalt|Kennzeichen SoBil-Buchung|Festschreibung|Leistungsdatum|Datum Zuord. Steuerperiode|Fälligkeit|"+
		"Generalumkehr (GU)|Steuersatz|Land|Abrechnungsreferenz|BVV-Position|EU-Land u. UStID (Ursprung)|EU-Steuersatz (Ursprung)|Abw. Skontokonto", "|")...)
}

// The columns that a booking uses, from 0.
const (
	datevAmount  = 0
	datevSide    = 1
	datevAccount = 6
	datevContra  = 7
	datevDate    = 9
	datevField   = 10
	datevText    = 13
)

// The greatest lengths of texts, in characters.
const (
	maxDATEVField = 36
	maxDATEVText  = 60
	maxDATEVName  = 30
)

// datev returns the file in the dialect DATEV. Lines without a value in euro have no booking.
func (f File) datev(o DATEVOptions, now time.Time) ([]byte, error) {
	hasConversions := false
	for _, l := range f.Lines {
		hasConversions = hasConversions || !l.Euro.Decimal.IsZero() || !l.ConversionFee.Decimal.IsZero()
	}
	if err := o.check(hasConversions); err != nil {
		return nil, err
	}
	period := f.Month.period()
	first, last := period.From.Date(), period.Last().Date()
	year := o.FiscalYear
	if year.IsZero() {
		year = time.Date(first.Year(), time.January, 1, 0, 0, 0, 0, time.UTC)
	}
	if year.After(first) || !year.AddDate(1, 0, 0).After(last) {
		return nil, fmt.Errorf("the fiscal year that begins on %s does not contain %s", year.Format(time.DateOnly), f.Month)
	}
	const day = "20060102"
	head := make([]string, 31)
	for i, cell := range map[int]string{
		0: quoted("EXTF"), 1: "700", 2: "21", 3: quoted("Buchungsstapel"), 4: "13", 5: strings.Replace(now.UTC().Format("20060102150405.000"), ".", "", 1),
		10: strconv.Itoa(o.Adviser), 11: strconv.Itoa(o.Client), 12: year.Format(day), 13: strconv.Itoa(o.AccountLength), 14: first.Format(day), 15: last.Format(day),
		16: quoted(shortened("Chequer "+string(f.Month), maxDATEVName)), 21: quoted("EUR"),
		18: "1", // Buchungstyp: Finanzbuchführung
		19: "0", // Rechnungslegungszweck: independent
		20: "0", // Festschreibung: not final
	} {
		head[i] = cell
	}
	rows := [][]string{head, datevColumns()}
	for i := range f.Lines {
		l := &f.Lines[i]
		for _, b := range []struct {
			amount          decimal.NullDecimal
			account, contra string
		}{{l.EURValue, o.Coins, o.Clearing}, {l.Euro, o.Exchange, o.Coins}, {l.ConversionFee, o.Fees, o.Exchange}} {
			if amount := b.amount.Decimal.Round(2); !amount.IsZero() {
				rows = append(rows, f.booking(l, amount, b.account, b.contra))
			}
		}
	}
	var text strings.Builder
	for _, row := range rows {
		text.WriteString(strings.Join(row, ";") + "\r\n")
	}
	content, err := encoding.ReplaceUnsupported(charmap.Windows1252.NewEncoder()).String(text.String())
	if err != nil {
		return nil, fmt.Errorf("encode the bookings: %w", err)
	}
	return []byte(content), nil
}

// booking returns the row of a booking. A negative amount is booked on the other side.
func (f File) booking(l *Line, amount decimal.Decimal, account, contra string) []string {
	row := make([]string, len(datevColumns()))
	side := "S"
	if amount.IsNegative() {
		side = "H"
	}
	date := f.Month.lastDay()
	if d, err := report.ParseDay(l.Date); err == nil && d >= f.Month.period().From && d <= date {
		date = d
	}
	row[datevAmount] = strings.Replace(amount.Abs().StringFixed(2), ".", ",", 1)
	row[datevSide] = quoted(side)
	row[datevAccount], row[datevContra] = account, contra
	row[datevDate] = date.Date().Format("0201")
	name := l.OrderID
	if name == "" {
		name = l.Invoice
	}
	row[datevField] = quoted(shortened(datevUnfit.ReplaceAllString(name, ""), maxDATEVField))
	row[datevText] = quoted(shortened(l.summary(), maxDATEVText))
	return row
}

// datevUnfit are the characters that "Belegfeld 1" must not have.
var datevUnfit = regexp.MustCompile(`[^A-Za-z0-9$&%*+/_-]`)

// summary returns the kind, the coins and the number of a line.
func (l *Line) summary() string {
	coins, text := l.Amount, ""
	if !coins.Valid {
		coins = l.Sold
	}
	if coins.Valid {
		text = " " + coins.Decimal.String() + " " + l.Asset
	}
	return fmt.Sprintf("%s%s, line %d", l.Kind, text, l.Number)
}

// quoted returns a text in quotation marks.
func quoted(text string) string { return `"` + strings.ReplaceAll(text, `"`, `""`) + `"` }

// shortened returns the first maximum characters of a text.
func shortened(text string, maximum int) string {
	if characters := []rune(text); len(characters) > maximum {
		return string(characters[:maximum])
	}
	return text
}
