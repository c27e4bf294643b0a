package money

import "math/big"

// vatScale is the number of hundredths of a percent in a whole.
const vatScale = 10_000

// maxVATHundredths is the largest VAT rate, in hundredths of a percent.
const maxVATHundredths = 50_00

// vatPercent is the unit of a VAT rate, which has at most two decimals.
var vatPercent = Currency{Code: "percent", Decimals: 2}

// VATRate is a rate of value added tax in percent, from 0 to 50 with at most two decimals. The zero value states no rate,
// which differs from a rate of 0 percent.
type VATRate struct {
	hundredths int64 // of a percent
	stated     bool
}

// ParseVATRate parses a rate in percent, such as "19" or "7.7". An empty text states no rate. The error is ErrSyntax,
// ErrPrecision if the text has more than two decimals (trailing zeros do not count), or ErrVATRate if the rate is above 50.
func ParseVATRate(text string) (VATRate, error) {
	if text == "" {
		return VATRate{}, nil
	}
	percent, err := Parse(text, vatPercent)
	if err != nil {
		return VATRate{}, err
	}
	if percent.Minor().Cmp(big.NewInt(maxVATHundredths)) > 0 {
		return VATRate{}, ErrVATRate
	}
	return VATRate{hundredths: percent.Cents(), stated: true}, nil
}

// Stated reports whether v states a rate.
func (v VATRate) Stated() bool { return v.stated }

// Equal reports whether v and w state the same rate, or both state none.
func (v VATRate) Equal(w VATRate) bool { return v == w }

// String returns the rate in plain digits without trailing zeros ("7.7"), or "" if v states none.
func (v VATRate) String() string {
	if !v.stated {
		return ""
	}
	return FromCents(v.hundredths, vatPercent).String()
}

// Split divides an amount that includes the tax into the net amount and the tax. The net amount, gross / (1 + rate), is
// rounded half up to the smallest unit of the currency, and both add up to gross. If v states no rate, the tax is zero.
func (v VATRate) Split(gross Amount) (net, vat Amount) {
	exact := new(big.Rat).Mul(gross.Rat(), big.NewRat(vatScale, vatScale+v.hundredths))
	net = RoundHalfUp(exact, gross.currency)
	return net, gross.Sub(net)
}
