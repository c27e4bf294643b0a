package report

import "chequer/internal/money"

// Received holds what the keys of a merchant received: the confirmed payments of its live invoices to addresses that were
// derived from the keys. A key may have received or spent more elsewhere, which the program does not see.
type Received struct {
	Complete bool                     // false while the sums are being computed
	ByKey    map[string][]ReceivedSum // by the counter of the wallet, which is the same for all wallets with one key; sorted by asset
}

// ReceivedSum is the sum of the payments in one asset.
type ReceivedSum struct {
	Asset  string // code
	Amount money.Amount
}
