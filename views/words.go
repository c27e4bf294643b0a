package views

import (
	"strconv"
	"strings"
)

// belowTwenty are the words for the numbers from 0 to 19, and tens those for the multiples of ten.
var belowTwenty = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")

var tens = strings.Fields("- - twenty thirty forty fifty sixty seventy eighty ninety")

// units are the names of a currency's unit and of its hundredth part.
var units = map[string][2]string{
	"EUR": {"euro", "cent"},
	"USD": {"dollar", "cent"},
}

// Words returns an amount in words: "fifty-six euros and fifty cents". The words show the shopper how an
// input like "1,50" was parsed. They are empty for other currencies than euro and dollar, for fractions of
// a cent, and for amounts from a billion.
func Words(amount, code string) string {
	unit, ok := units[code]
	integer, fraction, _ := strings.Cut(amount, ".")
	if !ok || len(fraction) > 2 {
		return ""
	}
	n, err := strconv.Atoi(integer)
	if err != nil || n < 0 || n >= 1e9 {
		return ""
	}
	cents, err := strconv.Atoi((fraction + "00")[:2])
	if err != nil {
		return ""
	}
	if cents == 0 {
		return countInWords(n, unit[0])
	}
	if n == 0 {
		return countInWords(cents, unit[1])
	}
	return countInWords(n, unit[0]) + " and " + countInWords(cents, unit[1])
}

// Number returns a number from 0 to 999,999,999 in words.
func Number(n int) string {
	switch {
	case n < 20:
		return belowTwenty[n]
	case n < 100:
		return joinWords(tens[n/10], "-", n%10)
	case n < 1e3:
		return joinWords(belowTwenty[n/100]+" hundred", " and ", n%100)
	case n < 1e6:
		return joinWords(Number(n/1e3)+" thousand", conjunction(n%1e3), n%1e3)
	}
	return joinWords(Number(n/1e6)+" million", conjunction(n%1e6), n%1e6)
}

// conjunction returns the text before the words of rest: " and " if rest is less than 100, as in "two thousand and
// five", otherwise a space.
func conjunction(rest int) string {
	if rest < 100 {
		return " and "
	}
	return " "
}

// joinWords returns head, followed by join and the words of rest unless rest is 0.
func joinWords(head, join string, rest int) string {
	if rest == 0 {
		return head
	}
	return head + join + Number(rest)
}

// countInWords returns a number of units in words: "two euros".
func countInWords(n int, unit string) string {
	if n == 1 {
		return "one " + unit
	}
	return Number(n) + " " + unit + "s"
}
