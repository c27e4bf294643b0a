package api

// Sale is the sale for euro of the payments of an invoice in one cryptocurrency, on the merchant's own
// exchange account.
type Sale struct {
	CryptoCurrency string `json:"crypto_currency"` // "BTC", on any network
	Exchange       string `json:"exchange"`        // of the newest order; empty before the first order
	State          string `json:"state"`
	Reason         string `json:"reason"` // why it is waiting, failed or was skipped
	// Reverted reports whether the invoice is no longer paid in this cryptocurrency.
	Reverted     bool     `json:"reverted"`
	Amount       string   `json:"amount"` // maximum amount to sell
	SoldAmount   string   `json:"sold_amount"`
	RateEUR      string   `json:"rate_eur"` // rate of the invoice
	LowestPrice  string   `json:"lowest_price"`
	AveragePrice string   `json:"average_price"` // of the orders; empty until an order has sold a part
	EuroAmount   string   `json:"euro_amount"`   // before the fee
	FeeAmount    string   `json:"fee_amount"`    // in euro
	Orders       []string `json:"orders"`        // the exchange's identifiers of accepted orders
	CreatedAt    string   `json:"created_at"`
	NextAt       string   `json:"next_at"` // time of the next action; empty if there is none
}
