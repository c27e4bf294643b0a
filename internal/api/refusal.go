package api

// CodeNoWallet is the code of the refusal that a merchant cannot be paid: there is
// no public key yet.
const CodeNoWallet = "no_wallet"

// CodeNoRate is the code of the refusal that no payment method has a price now.
const CodeNoRate = "no_rate"
