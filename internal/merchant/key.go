package merchant

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"chequer/internal/audit"
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

// ParseScopes parses names of scopes, and removes duplicates. It refuses an empty list.
func ParseScopes(names []string) ([]Scope, error) {
	var scopes []Scope
	for _, name := range names {
		scope := Scope(name)
		if !slices.Contains(AllScopes, scope) {
			return nil, fmt.Errorf("must be %s, not %q", listed(AllScopes), name)
		}
		if !slices.Contains(scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	return scopes, checkScopes(scopes)
}

// checkScopes refuses a key that would have no rights.
func checkScopes(scopes []Scope) error {
	if len(scopes) == 0 {
		return errors.New("must not be empty")
	}
	return nil
}

// listed returns words as part of a sentence: "create, read or admin".
func listed[W ~string](words []W) string {
	last := len(words) - 1
	return joined(words[:last]) + " or " + string(words[last])
}

// MaxLabel is the largest number of characters of a key's label.
const MaxLabel = 64

// KeyPrefix begins the ID of every API key.
const KeyPrefix = "key_"

// Key is an API key. A key signs requests with its secret, or is a token of a plug-in.
type Key struct {
	ID         string
	MerchantID string
	Key        string // 32 letters and digits
	Secret     string // 40 letters and digits; sealed in storage; "" for a plug-in
	// Plugin is the name of the plug-in that presents the key as a token, and TokenHash the hash of the token. Both
	// are "" for a key that signs.
	Plugin    string
	TokenHash string
	Mode      Mode
	Scopes    []Scope
	Label     string // text of the merchant about the purpose of the key
	CreatedAt time.Time
	UsedAt    time.Time // last use, accurate to about a minute; zero before the first use
	RevokedAt time.Time // zero while active
	// Builtin is true for the key with which the pages of this server call the API for all
	// shoppers. Such a key is never stored.
	Builtin bool
}

// May reports whether the key has a scope.
func (k Key) May(scope Scope) bool { return slices.Contains(k.Scopes, scope) }

// Actor returns the key as the actor of the changes of a request from an address.
func (k Key) Actor(address string) audit.Actor {
	return audit.Actor{Kind: audit.Key, ID: k.ID, Name: cmp.Or(k.Label, k.Key), Address: address}
}

// CreateKey makes and stores an API key. Only the returned Key contains the secret in the clear.
// The label describes the purpose of the key, and may be empty. It returns a *FieldError for a label
// that is too long or not one line, and for an empty list of scopes.
func (s *Service) CreateKey(ctx context.Context, merchantID string, mode Mode, scopes []Scope, label string) (Key, error) {
	if err := cmp.Or(invalid("label", CheckLine(label, MaxLabel)), invalid("scopes", checkScopes(scopes))); err != nil {
		return Key{}, err
	}
	k := s.newKey(merchantID, mode, scopes)
	k.Label = label
	if err := s.storage.CreateKey(ctx, k); err != nil {
		return Key{}, fmt.Errorf("create key: %w", err)
	}
	return k, nil
}

// Keys lists a merchant's keys without their secrets, oldest first, including those that are revoked.
func (s *Service) Keys(ctx context.Context, merchantID string) ([]Key, error) {
	all, err := s.storage.Keys(ctx, merchantID)
	for i := range all {
		all[i].Secret = ""
	}
	return all, err
}

// RevokeKey revokes a merchant's key by its public part, or returns ErrNotFound. A key that is revoked
// already keeps its time of revocation. This process refuses the key at once, other processes within
// cacheTTL.
func (s *Service) RevokeKey(ctx context.Context, merchantID, key string) error {
	if err := s.storage.RevokeKey(ctx, merchantID, key, s.now()); err != nil {
		return err
	}
	s.keys.remove(key)
	return nil
}
