package invoice

import (
	"errors"
	"fmt"

	"chequer/internal/money"
)

var (
	// ErrNotFound means that there is no such invoice.
	ErrNotFound = errors.New("no such invoice")
	// ErrNotModified means that nothing changed while Wait waited.
	ErrNotModified = errors.New("not modified")
	// ErrNonceUsed means that a request came before, and made something else.
	ErrNonceUsed = errors.New("nonce was used")
	// ErrConflict means that an idempotency key was used with another request.
	ErrConflict = errors.New("idempotency key was used with another request")
	// ErrLinkUsed means that a checkout link has made as many invoices as it may.
	ErrLinkUsed = errors.New("link was used as often as it may be")
	// ErrFenced means that another process leads this network now, or that the
	// snapshot is older than what is saved.
	ErrFenced = errors.New("not the leader any more")
	// ErrNoRate means that no method can be priced now.
	ErrNoRate = errors.New("no rate for any payment method")
	// ErrNoWallet means that the merchant has no wallet for any method.
	ErrNoWallet = errors.New("no wallet for any payment method")
	// ErrUnwatched means that the merchant has wallets, but nobody looks at their
	// networks, and offering them all the same is not switched on.
	ErrUnwatched = errors.New("no payment method is watched")
	// ErrUnreached means that no network of the payment methods was reached lately.
	ErrUnreached = errors.New("no network of these payment methods is reached")
	// ErrNoMethod means that none of the asked payment methods is offered.
	ErrNoMethod = errors.New("none of these payment methods is offered")
	// ErrTooLong means that the price cannot be held that long by any method.
	ErrTooLong = errors.New("no payment method holds its price that long")
	// ErrState means that the invoice does not stand as the decision needs.
	ErrState = errors.New("the invoice does not allow this now")
	// ErrTooLittle means that what is still due is less than any method carries.
	ErrTooLittle = errors.New("too little is due for any payment method")
	// ErrNothingReceived means that there is no money that could be sent back.
	ErrNothingReceived = errors.New("nothing was received")
	// ErrRefundAsset means that no money came in by an asset.
	ErrRefundAsset = errors.New("nothing was received by this payment method")
	// ErrRefundSet means that the shopper said before where money goes back to.
	ErrRefundSet = errors.New("a refund address is set already")
	// ErrOurAddress means that a refund address is one that invoices are paid to.
	ErrOurAddress = errors.New("a payment address of an invoice")
	// ErrUnknownOrder means that nobody knows yet what became of an order.
	ErrUnknownOrder = errors.New("it is not known what became of its last order")
	// ErrUnavailable means that the database is away for a moment. What was to be
	// written may be written or not.
	ErrUnavailable = errors.New("the database does not answer now")
)

// TooManyUnpaidError means that as many invoices of a group of callers are unpaid as
// an UnpaidLimit allows.
type TooManyUnpaidError struct{ Group string } // as in UnpaidLimit

// Error implements error.
func (e *TooManyUnpaidError) Error() string {
	if e.Group == "" {
		return "too many unpaid invoices"
	}
	return "too many unpaid invoices from one network"
}

// NoRateError is ErrNoRate and names the currency.
type NoRateError struct{ Fiat money.Currency }

// Error implements error.
func (e *NoRateError) Error() string { return ErrNoRate.Error() + " in " + e.Fiat.Code }

// Unwrap returns ErrNoRate.
func (e *NoRateError) Unwrap() error { return ErrNoRate }

// UnknownMethodError is ErrNoMethod and names one that is never offered here.
type UnknownMethodError struct{ Code string }

// Error implements error.
func (e *UnknownMethodError) Error() string { return "there is no payment method " + e.Code }

// Unwrap returns ErrNoMethod.
func (e *UnknownMethodError) Unwrap() error { return ErrNoMethod }

// TooSmallError means that no method carries so little; Smallest works.
type TooSmallError struct{ Smallest money.Amount }

// Error implements error.
func (e *TooSmallError) Error() string {
	return fmt.Sprintf("smallest amount is %s %s", e.Smallest, e.Smallest.Currency().Code)
}
