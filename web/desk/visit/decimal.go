package visit

import (
	"regexp"
	"strings"
)

// decimalComma matches a number whose comma cannot separate thousands: one or two digits follow the comma, or the part
// before it is 0.
var decimalComma = regexp.MustCompile(`^([0-9]+,[0-9]{1,2}|0,[0-9]+)$`)

// DecimalPoint returns a typed number with a decimal point if it has a decimal comma. It returns any other text unchanged,
// such as 1,500, whose comma may separate thousands.
func DecimalPoint(text string) string {
	if decimalComma.MatchString(text) {
		return strings.Replace(text, ",", ".", 1)
	}
	return text
}
