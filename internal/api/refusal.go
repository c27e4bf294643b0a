package api

// CodeNoWallet is the code of the refusal that a merchant cannot be paid: there is
// no public key yet.
const CodeNoWallet = "no_wallet"

// Codes of the refusals that too many invoices are unpaid: of the merchant, or of the
// shopper's network.
const (
	CodeTooManyUnpaid        = "too_many_unpaid"
	CodeTooManyUnpaidNetwork = "too_many_unpaid_from_network"
)

// CodeNoRate is the code of the refusal that no payment method has a price now.
const CodeNoRate = "no_rate"
