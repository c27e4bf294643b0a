package views

import (
	"strings"
	"time"

	"github.com/bojanz/currency"
)

// Language is what the pages are written in, as the html element says it. It is
// the one with the day before the month and the sign before the euros.
const Language = "en-IE"

// Fiat is an amount as people write it: "€56.50". What is no amount of a known
// currency is shown as it came.
func Fiat(amount, code string) string {
	parsed, err := currency.NewAmount(amount, code)
	if err != nil {
		return strings.TrimSpace(amount + " " + code)
	}
	formatter := currency.NewFormatter(currency.NewLocale("en"))
	// All decimals of a rate are shown, as it was used. More than ten would be
	// beyond what the formatter can hold.
	_, fraction, _ := strings.Cut(amount, ".")
	formatter.MaxDigits = uint8(min(max(len(fraction), 3), 10))
	return formatter.Format(parsed)
}

// FiatSign is the sign that stands before an amount: "€", "$", or the code.
func FiatSign(code string) string {
	sign, ok := currency.GetSymbol(code, currency.NewLocale("en"))
	if !ok {
		return code
	}
	return sign
}

// Group is a part of a long number or address. Groups are set apart by margins,
// never by spaces, so that what a hand selects is what a wallet takes.
type Group struct {
	Text  string
	Tight bool // a narrow gap follows
}

// AmountGroups parts the decimals of a coin as people read satoshis: two, then
// threes. Short amounts stay whole.
func AmountGroups(amount string) []Group {
	whole, fraction, _ := strings.Cut(amount, ".")
	if len(fraction) <= 4 {
		return []Group{{Text: amount}}
	}
	groups := []Group{{Text: whole + "." + fraction[:2], Tight: true}}
	for rest := fraction[2:]; rest != ""; {
		n := min(3, len(rest))
		groups = append(groups, Group{Text: rest[:n], Tight: true})
		rest = rest[n:]
	}
	groups[len(groups)-1].Tight = false
	return groups
}

// AddressGroups parts an address into fours.
func AddressGroups(address string) []Group {
	var groups []Group
	for address != "" {
		n := min(4, len(address))
		groups = append(groups, Group{Text: address[:n]})
		address = address[n:]
	}
	return groups
}

// Reference is the part of an invoice's id that people read out: "aK3x-9QfW".
func Reference(id string) string {
	if len(id) < 8 {
		return id
	}
	return id[:4] + "-" + id[4:8]
}

// Moment is a time for people and for programs.
type Moment struct {
	Machine string
	Text    string
}

// NewMoment shows a time of the wire; the zero Moment when it is none.
func NewMoment(wire string) Moment {
	t, err := time.Parse(time.RFC3339, wire)
	if err != nil {
		return Moment{}
	}
	return Moment{Machine: wire, Text: t.UTC().Format("2 Jan 2006, 15:04 MST")}
}

// TimeOfDay is a time of the wire without the day when that is today's.
func TimeOfDay(wire string, now time.Time) string {
	t, err := time.Parse(time.RFC3339, wire)
	if err != nil {
		return ""
	}
	layout := "2 Jan, 15:04 MST"
	if t.UTC().Format(time.DateOnly) == now.UTC().Format(time.DateOnly) {
		layout = "15:04 MST"
	}
	return t.UTC().Format(layout)
}

// Span is a duration in the largest unit that tells enough: "21 minutes".
func Span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "less than a minute"
	case d < 2*time.Hour:
		return count(int(d/time.Minute), "minute")
	case d < 48*time.Hour:
		return count(int(d/time.Hour), "hour")
	}
	return count(int(d/(24*time.Hour)), "day")
}
