package web

import (
	"strconv"
	"strings"
)

// accepts reports whether an Accept-Encoding header allows a content coding. A coding
// with the weight 0 is not allowed. See RFC 9110, 12.5.3.
func accepts(header, coding string) bool {
	other := false // whether "*" allows the coding
	for part := range strings.SplitSeq(header, ",") {
		name, parameters, _ := strings.Cut(part, ";")
		name = strings.TrimSpace(name)
		switch {
		case strings.EqualFold(name, coding):
			return weight(parameters) > 0
		case name == "*":
			other = weight(parameters) > 0
		}
	}
	return other
}

// weight returns the weight in the parameters of a coding. It returns 1 without a weight, and 0 if the
// weight cannot be parsed.
func weight(parameters string) float64 {
	name, value, _ := strings.Cut(strings.TrimSpace(parameters), "=")
	if !strings.EqualFold(strings.TrimSpace(name), "q") {
		return 1
	}
	q, err := strconv.ParseFloat(strings.TrimSpace(value), 64) //nolint:forbidigo // a weight, not money
	if err != nil {
		return 0
	}
	return q
}
