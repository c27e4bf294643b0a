package merchant

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Methods is an ordered choice of payment methods: codes separated by spaces. The empty value means
// the merchant's own setting, and if that is empty, the server's default.
type Methods string

// MaxMethods is the largest number of payment methods in a choice.
const MaxMethods = 32

var methodCode = regexp.MustCompile(`^[A-Z0-9-]{1,32}$`)

// NewMethods returns a choice of payment methods with the given codes. The error names the broken
// rule.
func NewMethods(codes []string) (Methods, error) {
	for i, code := range codes {
		switch {
		case !methodCode.MatchString(code):
			return "", fmt.Errorf("must be codes of payment methods such as BTC or EURC-BASE")
		case slices.Contains(codes[:i], code):
			return "", fmt.Errorf("must not contain %s twice", code)
		}
	}
	if len(codes) > MaxMethods {
		return "", fmt.Errorf("must not contain more than %d payment methods", MaxMethods)
	}
	return Methods(strings.Join(codes, " ")), nil
}

// Codes returns the codes in their order.
func (m Methods) Codes() []string { return strings.Fields(string(m)) }
