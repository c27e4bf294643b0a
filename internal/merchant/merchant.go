// Package merchant implements the merchants: their API keys, and the wallets whose public keys
// receive their payments.
package merchant

import (
	"time"
)

// Merchant represents a shop that is paid.
type Merchant struct {
	ID        string
	Name      string
	Methods   Methods
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

// Scope is a permission of an API key.
type Scope string

// The scopes of a key.
const (
	ScopeCreate Scope = "create"
	ScopeRead   Scope = "read"
	ScopePage   Scope = "page"
	ScopeLink   Scope = "link"
	ScopeAdmin  Scope = "admin"
)

// AllScopes are the scopes of a key that is created without a list of scopes.
var AllScopes = []Scope{ScopeCreate, ScopeRead, ScopePage, ScopeLink, ScopeAdmin}

// Key is an API key with its secret.
type Key struct {
	ID         string
	MerchantID string
	Key        string // 32 letters and digits
	Secret     string // 40 letters and digits; sealed in storage
	Mode       Mode
	Scopes     []Scope
	Label      string // text of the merchant about the purpose of the key
	CreatedAt  time.Time
	UsedAt     time.Time // last use, accurate to about a minute; zero before the first use
	RevokedAt  time.Time // zero while active
	// Builtin is true for the key with which the pages of this server call the API for all
	// shoppers. Such a key is never stored.
	Builtin bool
}

// May reports whether the key has a scope.
func (k Key) May(scope Scope) bool {
	for _, s := range k.Scopes {
		if s == scope {
			return true
		}
	}
	return false
}

// Wallet is a public key of a merchant from which destinations are derived.
type Wallet struct {
	ID         string
	MerchantID string
	Mode       Mode
	Asset      string // BTC, LTC, or ETH for all EVM networks
	Key        string // canonical public key, in the format of keys.Load
	Counter    string // names the index counter: key fingerprint and branch
	// Secret is the private key of a test wallet, so that money sent to a test address by mistake
	// is not lost. It is sealed in storage. It is empty for live wallets: the server has no private
	// keys that can spend real money.
	Secret     string
	CreatedAt  time.Time
	ArchivedAt time.Time // time of its replacement or removal; zero while active
}
