package api

// Terminal is a counter terminal, which creates invoices by a secret link.
type Terminal struct {
	ID   string `json:"id"`
	Mode string `json:"mode"`
	Name string `json:"name"`
	// FiatCurrency is the currency of the amounts of its invoices.
	FiatCurrency string `json:"fiat_currency"`
	// PaymentMethods are offered in this order; empty: those of the merchant.
	PaymentMethods []string `json:"payment_methods"`
	CreatedAt      string   `json:"created_at"`
}

// NewTerminal is the response body of POST /api/v2/terminals. Only this answer contains the secret link.
type NewTerminal struct {
	Terminal
	URL string `json:"url"`
}

// TerminalRequest is the body of a request that creates a terminal.
type TerminalRequest struct {
	Name           string    `json:"name,omitempty" rule:"line 64"`
	FiatCurrency   string    `json:"fiat_currency" rule:"required text 8"`
	PaymentMethods *[]string `json:"payment_methods,omitempty" rule:"choice"`
}

// TerminalList is the response body of GET /api/v2/terminals.
type TerminalList struct {
	Terminals []Terminal `json:"terminals"`
}
