package bolt11

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// bitcoin is a bitcoin in millisatoshi.
const bitcoin = 100_000_000_000

// MaxMilliSatoshi is the number of all bitcoins, in millisatoshi.
const MaxMilliSatoshi = 21_000_000 * bitcoin

// multipliers are the units of amounts in millisatoshi, largest first; p is a tenth of a
// millisatoshi.
var multipliers = []struct {
	letter string
	unit   int64
}{{"", bitcoin}, {"m", bitcoin / 1000}, {"u", bitcoin / 1_000_000}, {"n", bitcoin / 1_000_000_000}}

// parsePrefix returns the network and the amount of a human-readable part in lower case.
func parsePrefix(text string) (network string, milliSatoshi int64, err error) {
	rest, isLightning := strings.CutPrefix(text, "ln")
	if !isLightning {
		return "", 0, errors.New("does not begin with ln")
	}
	amount := ""
	if at := strings.IndexAny(rest, "0123456789"); at >= 0 {
		rest, amount = rest[:at], rest[at:]
	}
	if !slices.Contains(networks, rest) {
		return "", 0, fmt.Errorf("unknown currency %q", rest)
	}
	if amount == "" {
		return rest, 0, nil
	}
	milliSatoshi, err = parseAmount(amount)
	return rest, milliSatoshi, err
}

// parseAmount returns an amount in millisatoshi.
func parseAmount(text string) (int64, error) {
	digits := strings.TrimRight(text, "munp")
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || len(text) > len(digits)+1 || digits[0] == '0' {
		return 0, fmt.Errorf("invalid amount %q", text)
	}
	count, letter := int64(n), text[len(digits):]
	if letter == "p" {
		if count%10 != 0 {
			return 0, fmt.Errorf("amount %q is not a whole number of millisatoshi", text)
		}
		count /= 10
		if count > MaxMilliSatoshi {
			return 0, fmt.Errorf("amount %q is larger than 21 million bitcoin", text)
		}
		return count, nil
	}
	for _, m := range multipliers {
		if m.letter != letter {
			continue
		}
		if count > MaxMilliSatoshi/m.unit {
			return 0, fmt.Errorf("amount %q is larger than 21 million bitcoin", text)
		}
		return count * m.unit, nil
	}
	return 0, fmt.Errorf("invalid amount %q", text)
}

// formatAmount returns the shortest form of an amount in millisatoshi, "" for 0.
func formatAmount(milliSatoshi int64) string {
	if milliSatoshi == 0 {
		return ""
	}
	for _, m := range multipliers {
		if milliSatoshi%m.unit == 0 {
			return strconv.FormatInt(milliSatoshi/m.unit, 10) + m.letter
		}
	}
	return strconv.FormatInt(milliSatoshi, 10) + "0p"
}
