package merchant

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Methods are the payment methods that are offered, in their order: codes with a space
// between them. The empty value leaves the choice to the merchant's own setting, and
// there to the server.
type Methods string

// MaxMethods bounds a choice of payment methods.
const MaxMethods = 32

var methodCode = regexp.MustCompile(`^[A-Z0-9-]{1,32}$`)

// NewMethods returns a choice of payment methods by their codes. The error names what is
// wrong with them.
func NewMethods(codes []string) (Methods, error) {
	for i, code := range codes {
		switch {
		case !methodCode.MatchString(code):
			return "", fmt.Errorf("must be codes of payment methods such as BTC or EURC-BASE")
		case slices.Contains(codes[:i], code):
			return "", fmt.Errorf("names %s twice", code)
		}
	}
	if len(codes) > MaxMethods {
		return "", fmt.Errorf("names more than %d payment methods", MaxMethods)
	}
	return Methods(strings.Join(codes, " ")), nil
}

// Codes returns the codes in their order.
func (m Methods) Codes() []string { return strings.Fields(string(m)) }
