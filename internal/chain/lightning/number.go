package lightning

import (
	"errors"
	"strings"

	"github.com/shopspring/decimal"
)

// Number is a whole number in JSON. Programs write it as 1, 1.0, 1e3 or "1".
type Number int64

// UnmarshalJSON implements json.Unmarshaler. null is 0.
func (n *Number) UnmarshalJSON(text []byte) error {
	bare := strings.Trim(string(text), `"`)
	if bare == "null" || bare == "" {
		*n = 0
		return nil
	}
	d, err := decimal.NewFromString(bare)
	if err != nil || len(bare) > 30 || d.Exponent() > 18 || d.Exponent() < -30 || !d.IsInteger() || !d.BigInt().IsInt64() {
		return errors.New("not a whole number of at most 64 bits")
	}
	*n = Number(d.IntPart())
	return nil
}
