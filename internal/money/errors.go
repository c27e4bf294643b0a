package money

import "errors"

var (
	// ErrSyntax means that a text is not a plain number.
	ErrSyntax = errors.New("not a plain number")
	// ErrPrecision means that a text has more decimals than its currency.
	ErrPrecision = errors.New("more decimals than the currency has")
	// ErrRate means that a rate is not a positive number.
	ErrRate = errors.New("not a positive rate")
	// ErrVATRate means that a VAT rate is above 50 percent.
	ErrVATRate = errors.New("more than 50 percent")
)
