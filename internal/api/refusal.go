package api

// CodeNoWallet is the error code for a merchant without a wallet.
const CodeNoWallet = "no_wallet"

// Error codes for too many unpaid invoices: of the merchant, or of the shopper's network.
const (
	CodeTooManyUnpaid        = "too_many_unpaid"
	CodeTooManyUnpaidNetwork = "too_many_unpaid_from_network"
)

// CodeNoRate is the error code for an invoice without a rate for any payment method.
const CodeNoRate = "no_rate"

// Error codes for a payment request that is not made: one is being made already, the invoice had as many as it may have, or the
// merchant's wallet made none.
const (
	CodeRequestRunning  = "payment_request_running"
	CodeTooManyRequests = "too_many_payment_requests"
	CodeNoRequest       = "no_payment_request"
	CodeRequestAmount   = "payment_request_amount"
)
