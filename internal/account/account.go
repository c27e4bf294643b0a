// Package account implements the accounts of the desk with their rules: roles, sign-in methods,
// sessions, invitations, recovery and lock-out.
package account

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Account is a person who signs in at the desk.
type Account struct {
	ID        string
	Name      string
	Roles     map[string]Role // by merchant ID
	SignIn    SignIn
	CreatedAt time.Time

	Preferences Preferences
}

// Role returns the account's role in a shop, "" if it has none.
func (a Account) Role(merchantID string) Role { return a.Roles[merchantID] }

// Shops returns the IDs of the merchants in which the account has a role, sorted.
func (a Account) Shops() []string { return slices.Sorted(maps.Keys(a.Roles)) }

// Allows returns the extent to which the account has a permission in a shop.
func (a Account) Allows(merchantID string, p Permission) Grant { return a.Role(merchantID).Grant(p) }

// SignIn holds the methods with which an account signs in. Storage seals them.
type SignIn struct {
	Passkeys []Passkey `json:"passkeys,omitempty"`
	Password *Password `json:"password,omitempty"` // nil if the account has none
}

// Passkey returns the passkey with an ID, or nil if there is none.
func (s SignIn) Passkey(id string) *Passkey {
	for i := range s.Passkeys {
		if s.Passkeys[i].ID() == id {
			return &s.Passkeys[i]
		}
	}
	return nil
}

// Methods returns the number of complete sign-in methods. Recovery codes are a part of the method
// with a password.
func (s SignIn) Methods() int {
	if s.Password == nil {
		return len(s.Passkeys)
	}
	return len(s.Passkeys) + 1
}

// clone returns a copy that shares nothing with s.
func (s SignIn) clone() SignIn {
	s.Passkeys = slices.Clone(s.Passkeys)
	if s.Password != nil {
		p := *s.Password
		p.RecoveryCodes = slices.Clone(p.RecoveryCodes)
		s.Password = &p
	}
	return s
}

// Clone returns a copy that shares nothing with a.
func (a Account) Clone() Account {
	a.Roles, a.SignIn = maps.Clone(a.Roles), a.SignIn.clone()
	a.Preferences.NoticesSeen = maps.Clone(a.Preferences.NoticesSeen)
	return a
}

// maxName is the largest length of a name in characters.
const maxName = 40

// CheckName returns a name without surrounding space, or a *FieldError.
func CheckName(text string) (string, error) {
	name := strings.TrimSpace(norm.NFC.String(text))
	n := utf8.RuneCountInString(name)
	switch {
	case n == 0:
		return "", &FieldError{"name", "must not be empty"}
	case n > maxName:
		return "", &FieldError{"name", "must have at most 40 characters"}
	case !utf8.ValidString(name):
		return "", &FieldError{"name", "must be valid UTF-8"}
	}
	for _, r := range name {
		if r != ' ' && !unicode.IsGraphic(r) || unicode.Is(unicode.Bidi_Control, r) || unicode.Is(unicode.Cf, r) {
			return "", &FieldError{"name", "must not contain invisible characters"}
		}
	}
	return name, nil
}

// NameKey returns the form of a name in which it is unique: two names that differ only in case or
// width are the same.
func NameKey(name string) string {
	return cases.Fold().String(norm.NFKC.String(strings.TrimSpace(name)))
}
