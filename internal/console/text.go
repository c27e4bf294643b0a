package console

import (
	"strings"
	"unicode"

	"chequer/internal/money"
)

// Printable returns untrusted text without the characters that control a terminal, which include line breaks.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if controlsTerminal(r) {
			return -1
		}
		return r
	}, text)
}

// controlsTerminal reports whether a character controls a terminal: moves the cursor, changes colours, or
// reverses the direction of the text after it (UAX 9, section 2).
func controlsTerminal(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}

// OneLine returns a text with each run of whitespace, including line breaks, replaced by one space.
func OneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Fiat returns an amount with the decimals and the code of its currency, such as "3.50 EUR". If digits
// is empty, it returns "". If digits is not an amount or the currency is unknown, digits are unchanged.
func Fiat(digits, code string) string {
	if digits == "" {
		return ""
	}
	if currency, known := money.Fiat(code); known {
		if a, err := money.Parse(digits, currency); err == nil {
			digits = a.Fixed()
		}
	}
	return digits + " " + code
}
