package api

// CodeNoWallet is the code of the error that a merchant cannot be paid because there is no public
// key.
const CodeNoWallet = "no_wallet"

// Codes of the errors that too many invoices are unpaid: of the merchant, or of the shopper's
// network.
const (
	CodeTooManyUnpaid        = "too_many_unpaid"
	CodeTooManyUnpaidNetwork = "too_many_unpaid_from_network"
)

// CodeNoRate is the code of the error that no payment method has a price.
const CodeNoRate = "no_rate"
