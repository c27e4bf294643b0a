package desk

import "chequer/views"

// Wallets is the page of the wallets of a shop.
type Wallets struct {
	Frame
	Tabs      []Tab
	Cards     []Wallet
	Available []views.Link // kinds without a wallet, with the addresses of their forms
	Former    []FormerWallet
	Demo      string // states that no wallet can be added to a demo; empty if the server is none
	Note      string // what the received amounts are, with their time
}

// Wallet is an active wallet.
type Wallet struct {
	ID      string
	Name    string
	Facts   []Fact
	Methods string   // codes of the payment methods that it makes available; empty if there is none
	Off     []string // payment methods that it could make available and does not, each with the reason
	Warning string
	Tested  Result     // of a test of a connection that was just made; empty if there was none
	Test    string     // address that tests a connection; empty for other wallets, or if the account may not
	Replace views.Link // empty if the account may not
	Remove  views.Link
}

// FormerWallet is a wallet that was replaced or removed.
type FormerWallet struct {
	Key      string
	Text     string
	Received string
}

// NewWallet is the form for a wallet.
type NewWallet struct {
	Frame
	Back    views.Link
	Heading string
	Problem string
	Action  string
	Hidden  []Hidden
	Key     Field
	Address Field
}
