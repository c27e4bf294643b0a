package merchant

import (
	"slices"
	"time"
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
func (k Key) May(scope Scope) bool { return slices.Contains(k.Scopes, scope) }
