// Package merchant holds the shop that is paid: its API keys, and the wallets
// whose public keys its money goes to.
package merchant

import (
	"time"
)

// Merchant is a shop that is paid.
type Merchant struct {
	ID        string
	Name      string
	Methods   Methods
	CreatedAt time.Time
}

// Mode keeps money and trials apart, as invoice.Mode does.
type Mode string

const (
	// Live is real money.
	Live Mode = "live"
	// Test is simnet.
	Test Mode = "test"
)

// Scope is something that an API key may do.
type Scope string

// The scopes of a key.
const (
	ScopeCreate Scope = "create"
	ScopeRead   Scope = "read"
	ScopePage   Scope = "page"
	ScopeLink   Scope = "link"
	ScopeAdmin  Scope = "admin"
)

// AllScopes are the scopes of a key made without naming any.
var AllScopes = []Scope{ScopeCreate, ScopeRead, ScopePage, ScopeLink, ScopeAdmin}

// Key is an API key with its secret.
type Key struct {
	ID         string
	MerchantID string
	Key        string // 32 letters and digits
	Secret     string // 40; sealed where it is stored
	Mode       Mode
	Scopes     []Scope
	Label      string // what it is for, in the merchant's words
	CreatedAt  time.Time
	UsedAt     time.Time // to about a minute; zero before its first use
	RevokedAt  time.Time // zero while in force
	// Builtin is the key of our own pages, which call for every shopper. It is
	// never stored.
	Builtin bool
}

// May tells whether the key has a scope.
func (k Key) May(scope Scope) bool {
	for _, s := range k.Scopes {
		if s == scope {
			return true
		}
	}
	return false
}

// Wallet is a public key of a merchant that destinations come from.
type Wallet struct {
	ID         string
	MerchantID string
	Mode       Mode
	Asset      string // kind: BTC, LTC or ETH for every EVM network
	Key        string // canonical public key, as keys.Load reads it
	Counter    string // names the index counter: key fingerprint and branch
	// Secret is the private key of a test wallet, so that nothing sent to a test
	// address by mistake is lost. Sealed where it is stored; empty for live ones:
	// spending keys do not exist on the server.
	Secret     string
	CreatedAt  time.Time
	ArchivedAt time.Time // when it was replaced or removed; zero while in force
}
