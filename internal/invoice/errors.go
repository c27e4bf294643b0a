package invoice

import (
	"context"
	"errors"
	"fmt"
	"time"

	"chequer/internal/money"
)

var (
	// ErrNotFound means that there is no such invoice.
	ErrNotFound = errors.New("no such invoice")
	// ErrNotModified means that the invoice did not change while Wait waited.
	ErrNotModified = errors.New("not modified")
	// ErrNonceUsed means that the nonce was used before, with another request.
	ErrNonceUsed = errors.New("nonce was used")
	// ErrConflict means that the idempotency key was used before, with another request.
	ErrConflict = errors.New("idempotency key was used with another request")
	// ErrLinkUsed means that a checkout link has reached its limit of invoices.
	ErrLinkUsed = errors.New("checkout link has reached its limit of uses")
	// ErrFenced means that another process now holds the lease of this network, or that the snapshot
	// is older than the newest saved snapshot.
	ErrFenced = errors.New("lease lost")
	// ErrNoRate means that no method can be priced now.
	ErrNoRate = errors.New("no rate for any payment method")
	// ErrNoWallet means that the merchant has no wallet for any method.
	ErrNoWallet = errors.New("no wallet for any payment method")
	// ErrUnwatched means that the merchant has wallets, but their networks are not watched, and
	// offering unwatched networks is not enabled.
	ErrUnwatched = errors.New("no payment method is watched")
	// ErrUnreached means that no network of the payment methods was reached recently.
	ErrUnreached = errors.New("no network of these payment methods is reached")
	// ErrNoMethod means that none of the requested payment methods is offered.
	ErrNoMethod = errors.New("none of these payment methods is offered")
	// ErrTooLong means that no payment method holds its price for the requested time.
	ErrTooLong = errors.New("no payment method holds its price that long")
	// ErrTooLarge means that the amount is above the maximum of every payment method.
	ErrTooLarge = errors.New("too large for any of these payment methods")
	// ErrState means that the state of the invoice does not allow the decision.
	ErrState = errors.New("the invoice does not allow this now")
	// ErrStale means that the invoice has changed since the caller read it.
	ErrStale = errors.New("the invoice changed since it was read")
	// ErrTooLittle means that the amount still due is below the minimum of every payment method.
	ErrTooLittle = errors.New("too little is due for any payment method")
	// ErrTooMuch means that the amount still due is above the maximum of every payment method.
	ErrTooMuch = errors.New("too much is due for any payment method")
	// ErrNothingReceived means that the invoice received no money that could be refunded.
	ErrNothingReceived = errors.New("nothing was received")
	// ErrRefundAsset means that the invoice received no money in the asset of the refund address.
	ErrRefundAsset = errors.New("nothing was received by this payment method")
	// ErrRefundSet means that the shopper has already given a refund address.
	ErrRefundSet = errors.New("a refund address is set already")
	// ErrPaymentAddress means that the refund address is the payment address of an invoice.
	ErrPaymentAddress = errors.New("the refund address is a payment address of an invoice")
	// ErrTokenContract means that the refund address is a contract of a token, or an address that no wallet has.
	ErrTokenContract = errors.New("the refund address is no address of a wallet")
	// ErrNoRefund means that the invoice has no such refund.
	ErrNoRefund = errors.New("no such refund")
	// ErrNoSurplus means that no surplus waits for a decision.
	ErrNoSurplus = errors.New("no surplus waits for a decision")
	// ErrOverRefund means that a refund is more than the confirmed amount that is not refunded yet.
	ErrOverRefund = errors.New("the refund is more than what can be refunded")
	// ErrRefundExists means that the invoice has a refund of the same kind and amount.
	ErrRefundExists = errors.New("a refund of the same kind and amount exists")
	// ErrTransaction means that a text is not the identifier of a transaction of the refund's network.
	ErrTransaction = errors.New("no transaction of this network has such an identifier")
	// ErrOwnTransaction means that a transaction pays the invoice, so that it is no refund.
	ErrOwnTransaction = errors.New("the transaction is a payment of the invoice")
	// ErrPaymentHash means that a text is neither the payment hash of a Lightning payment nor its preimage.
	ErrPaymentHash = errors.New("neither the payment hash nor the preimage of the refund")
	// ErrRequestAmount means that the payment request to which a refund is paid asks for another amount.
	ErrRequestAmount = errors.New("the payment request of the refund asks for another amount")
	// ErrUsedTransaction means that a transaction is stated for another refund to the same address in the same asset.
	ErrUsedTransaction = errors.New("the transaction belongs to another refund to the same address")
	// ErrUnknownOrder means that the outcome of the last order at the exchange is not known yet.
	ErrUnknownOrder = errors.New("the outcome of the last order is not known")
	// ErrUnavailable means that the database is temporarily unavailable. The change may or may not
	// have been written.
	ErrUnavailable = errors.New("the database does not answer now")
)

// TooManyUnpaidError means that a group of callers has reached its limit of unpaid invoices. Group is
// the group of UnpaidLimit.
type TooManyUnpaidError struct{ Group string }

// Error implements error.
func (e *TooManyUnpaidError) Error() string {
	if e.Group == "" {
		return "too many unpaid invoices"
	}
	return "too many unpaid invoices from one network"
}

// UnreadableError means that the stored rows of an invoice are damaged. Reading them again does not help.
type UnreadableError struct {
	ID  string
	Err error
}

// Error implements error.
func (e *UnreadableError) Error() string {
	return "stored invoice " + e.ID + " is unreadable: " + e.Err.Error()
}

// Unwrap returns the fault of the rows.
func (e *UnreadableError) Unwrap() error { return e.Err }

// UnreadableStorage stores which invoices cannot be read.
type UnreadableStorage interface {
	// RecordUnreadable records that a loop skipped an invoice with an *UnreadableError, and postpones its next
	// check and its sales. It reports whether the invoice was not recorded before.
	RecordUnreadable(ctx context.Context, id string, now time.Time) (first bool, err error)
}

// SkipUnreadable lets a loop go on after an error about one invoice. If the error is an *UnreadableError, it is recorded,
// and skip is true; it is returned only the first time, so that it is logged once. Any other error is returned as it is,
// and so is a failure to record it.
func SkipUnreadable(ctx context.Context, s UnreadableStorage, err error, now time.Time) (skip bool, remaining error) {
	broken, ok := errors.AsType[*UnreadableError](err)
	if !ok {
		return false, err
	}
	first, recordErr := s.RecordUnreadable(ctx, broken.ID, now)
	switch {
	case recordErr != nil:
		return false, errors.Join(err, recordErr)
	case first:
		return true, err
	}
	return true, nil
}

// NoRateError is ErrNoRate with the currency of the invoice.
type NoRateError struct{ Fiat money.Currency }

// Error implements error.
func (e *NoRateError) Error() string { return ErrNoRate.Error() + " in " + e.Fiat.Code }

// Unwrap returns ErrNoRate.
func (e *NoRateError) Unwrap() error { return ErrNoRate }

// UnknownMethodError is ErrNoMethod with the code of a method that is never offered.
type UnknownMethodError struct{ Code string }

// Error implements error.
func (e *UnknownMethodError) Error() string { return "there is no payment method " + e.Code }

// Unwrap returns ErrNoMethod.
func (e *UnknownMethodError) Unwrap() error { return ErrNoMethod }

// TooSmallError means that the amount is below the minimum of every payment method. Smallest is the
// smallest amount that a payment method accepts.
type TooSmallError struct{ Smallest money.Amount }

// Error implements error.
func (e *TooSmallError) Error() string {
	return fmt.Sprintf("smallest amount is %s %s", e.Smallest, e.Smallest.Currency().Code)
}
