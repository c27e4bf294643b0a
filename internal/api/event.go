package api

import "encoding/json"

// Event is the body of a callback: our own vocabulary, every field always
// there, every amount a decimal string, so that it survives receivers that
// parse and encode again before they hash: ASCII, compact, no slash, no empty
// object, no text of a person.
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
	// ToleranceAmount is how much may be missing, see Resource.
	ToleranceAmount string `json:"tolerance_amount"`
	// PaidCount and FirstPaidAt tell a receiver that invoice.paid came before, see
	// Resource.
	PaidCount      int64      `json:"paid_count"`
	FirstPaidAt    string     `json:"first_paid_at"`
	Accepted       Acceptance `json:"accepted"`
	DisableConvert bool       `json:"disable_convert"`
	Payments       []Payment  `json:"payments"` // 100 at most
	// MorePayments is how many there are beside, none of which matters more.
	MorePayments int `json:"more_payments"`
	// Conversions are the sales of what paid it.
	Conversions []Conversion `json:"conversions"`
	// Wallet is what wallet.changed is about; its texts are empty in other events.
	Wallet WalletChange `json:"wallet"`
}

// WalletChange is a change of the wallets that new invoices are paid to. It holds no
// public key.
type WalletChange struct {
	ID     string `json:"id"`
	Asset  string `json:"asset"`  // BTC, LTC, or ETH for every EVM network
	Change string `json:"change"` // added, replaced, removed
	// Fingerprint is the hash160 of the public key and chain code that addresses are
	// derived from, in hex. See BIP 32, "Key identifiers".
	Fingerprint string `json:"fingerprint"`
	FormerID    string `json:"former_id"` // the wallet that was replaced, or ""
}

// EventPage is what GET /api/v2/events answers: events as they are sent, in the
// order in which they were committed.
type EventPage struct {
	Mode   string            `json:"mode"` // of the key that asks, and of all events
	Events []json.RawMessage `json:"events"`
	Next   int64             `json:"next"` // the position to ask after the next time
}
