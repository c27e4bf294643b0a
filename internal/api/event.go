package api

import "encoding/json"

// Event is the body of a webhook. Every field is present and every amount is a decimal string. The
// body does not change when a receiver parses and encodes it again before computing its hash: it is
// compact ASCII without a slash and without an empty object. OrderID is empty if the invoice's order_id has
// other characters than letters, digits, ".", "_", "~" and "-".
type Event struct {
	ID             string   `json:"id"`
	Type           string   `json:"type"`
	Version        int64    `json:"version"`
	CreatedAt      string   `json:"created_at"`
	Mode           string   `json:"mode"`
	ForeignID      string   `json:"foreign_id"`
	OrderID        string   `json:"order_id"`
	Status         string   `json:"status"`
	Exceptions     []string `json:"exceptions"`
	ClientAmount   string   `json:"client_amount"`
	ClientCurrency string   `json:"client_currency"`
	PaidAmount     string   `json:"paid_amount"`
	DueAmount      string   `json:"due_amount"`
	OverpaidAmount string   `json:"overpaid_amount"`
	// ToleranceAmount is the part of the price that may be missing; see Resource.
	ToleranceAmount string `json:"tolerance_amount"`
	// PaidCount and FirstPaidAt show a receiver whether invoice.paid was sent before; see Resource.
	PaidCount      int64      `json:"paid_count"`
	FirstPaidAt    string     `json:"first_paid_at"`
	Accepted       Acceptance `json:"accepted"`
	DisableConvert bool       `json:"disable_convert"`
	Payments       []Payment  `json:"payments"` // at most 100
	// MorePayments is the number of payments that are not in Payments.
	MorePayments int `json:"more_payments"`
	// Conversions are the sales of the payments of the invoice.
	Conversions []Sale `json:"conversions"`
	// Wallet is the subject of wallet.changed; its strings are empty in other events.
	Wallet WalletChange `json:"wallet"`
	// Account is the subject of account.changed; its strings are empty in other events.
	Account AccountChange `json:"account"`
}

// AccountChange is a change of an account of the desk or of its sign-in methods. It contains no secret
// and no name.
type AccountChange struct {
	ID string `json:"id"`
	// Change is created, removed, roles_changed, recovered, password_set, password_removed, passkey_added
	// or passkey_removed.
	Change string `json:"change"`
}

// WalletChange is a change of the wallets to which new invoices are paid. It contains no public
// key.
type WalletChange struct {
	ID     string `json:"id"`
	Asset  string `json:"asset"`  // BTC, LTC, XMR, ETH for every EVM network, or BTC-LN for a connection to Lightning
	Change string `json:"change"` // added, replaced, removed
	// Fingerprint is the hash160 of the public key and chain code from which addresses are derived,
	// in hex. The key identifier of BIP 32 differs, because it omits the chain code. For XMR it is
	// the first 20 bytes of the SHA-256 of the primary address. It is "" for BTC-LN.
	Fingerprint string `json:"fingerprint"`
	FormerID    string `json:"former_id"` // the wallet that was replaced, or ""
}

// EventPage is the response body of GET /api/v2/events: events with the bytes of their deliveries, in
// the order in which they were committed.
type EventPage struct {
	Mode   string            `json:"mode"` // mode of the key, and of all events
	Events []json.RawMessage `json:"events"`
	Next   int64             `json:"next"` // position for the next request
}
