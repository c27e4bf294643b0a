// Package merchant implements merchants and what they manage: API keys, wallets, endpoints, checkout
// links, products, terminals and themes, with the rules for each.
package merchant

import "time"

// Merchant represents a shop that is paid.
type Merchant struct {
	ID        string
	Name      string
	Choices   Choices // payment settings
	CreatedAt time.Time
}

// Mode separates real payments from test payments, like invoice.Mode.
type Mode string

const (
	// Live means real money.
	Live Mode = "live"
	// Test means simnet.
	Test Mode = "test"
)
