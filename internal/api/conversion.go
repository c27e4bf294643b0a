package api

// Conversion is the sale for euro of what paid an invoice in one coin, on the
// merchant's own exchange account.
type Conversion struct {
	CryptoCurrency string `json:"crypto_currency"` // "BTC", whatever the network
	Exchange       string `json:"exchange"`        // of the newest order; empty before the first
	State          string `json:"state"`
	Reason         string `json:"reason"` // why it waits, failed or was skipped
	// Reverted tells that the invoice is not paid any more.
	Reverted     bool     `json:"reverted"`
	Amount       string   `json:"amount"` // of the coin, at most
	SoldAmount   string   `json:"sold_amount"`
	RateEUR      string   `json:"rate_eur"` // of the invoice
	LowestPrice  string   `json:"lowest_price"`
	AveragePrice string   `json:"average_price"` // that was got; empty until something is sold
	EuroAmount   string   `json:"euro_amount"`   // before the fee
	FeeAmount    string   `json:"fee_amount"`    // euro
	Orders       []string `json:"orders"`        // the exchange's own names for what it took
	CreatedAt    string   `json:"created_at"`
	NextAt       string   `json:"next_at"` // when something is done; empty when nothing is
}
