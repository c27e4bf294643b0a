package api

import (
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"
)

// Faults of a number, each as the end of a sentence.
var (
	ErrNotNumber = errors.New("must be a number")
	ErrNegative  = errors.New("must not be negative")
	ErrLong      = errors.New("must have at most 40 characters")
	ErrExponent  = errors.New("must have an exponent from -18 to 18")
)

// Bounds of a number that is parsed, its length in characters and its exponent, so that no decimal type
// processes a hostile number.
const (
	maxNumberLength = 40
	maxExponent     = 18
)

// jsonNumber matches the grammar of RFC 8259, section 6: sign, whole part, fraction, exponent.
var jsonNumber = regexp.MustCompile(`^(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$`)

// Plain returns a JSON number in plain digits, as text and without loss: "5.0E-4" becomes "0.0005",
// "20.0" becomes "20". The error is ErrNotNumber, ErrNegative, ErrLong or ErrExponent.
func Plain(n json.Number) (string, error) {
	if len(n) > maxNumberLength {
		return "", ErrLong
	}
	parts := jsonNumber.FindStringSubmatch(n.String())
	if parts == nil {
		return "", ErrNotNumber
	}
	sign, integer, fraction, power := parts[1], parts[2], parts[3], parts[4]
	if sign != "" {
		return "", ErrNegative
	}
	exponent := 0
	if power != "" {
		var err error
		if exponent, err = strconv.Atoi(power); err != nil || exponent < -maxExponent || exponent > maxExponent {
			return "", ErrExponent
		}
	}
	return shift(integer, fraction, exponent), nil
}

// shift moves the decimal point to the right, or to the left if places is negative, and removes
// leading and trailing zeros.
func shift(integer, fraction string, places int) string {
	digits := integer + fraction
	dot := len(integer) + places
	if dot < 0 {
		digits, dot = strings.Repeat("0", -dot)+digits, 0
	}
	if missing := dot - len(digits); missing > 0 {
		digits += strings.Repeat("0", missing)
	}
	integer, fraction = strings.TrimLeft(digits[:dot], "0"), strings.TrimRight(digits[dot:], "0")
	if integer == "" {
		integer = "0"
	}
	if fraction == "" {
		return integer
	}
	return integer + "." + fraction
}
