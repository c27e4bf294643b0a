package visit

import (
	"regexp"
	"strings"
)

// decimalComma matches a number with a decimal comma that is no thousands separator: it has one or two digits after it, or
// follows a zero.
var decimalComma = regexp.MustCompile(`^([0-9]+,[0-9]{1,2}|0,[0-9]+)$`)

// DecimalPoint returns a typed number with a decimal point if it has a decimal comma. Another text, such as 1,500, whose comma
// may separate thousands, is returned as it is.
func DecimalPoint(text string) string {
	if decimalComma.MatchString(text) {
		return strings.Replace(text, ",", ".", 1)
	}
	return text
}
