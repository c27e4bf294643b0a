package account

import (
	"maps"
	"slices"
	"time"

	"chequer/internal/audit"
)

// EventChanged is the type of the event for a change of an account or of its sign-in methods. It is in
// the feed of each shop in which the account has or had a role, but has no invoice.
const EventChanged = "account.changed"

// Kind is the kind of a change of an account.
type Kind string

// The kinds of changes.
const (
	Created         Kind = "created"
	Removed         Kind = "removed"
	RolesChanged    Kind = "roles_changed"
	Recovered       Kind = "recovered"
	PasswordSet     Kind = "password_set"
	PasswordRemoved Kind = "password_removed"
	PasskeyAdded    Kind = "passkey_added"
	PasskeyRemoved  Kind = "passkey_removed"
)

// RecoveryCreated is the kind of a new recovery link. It has no event, because the account does not change before the link is used.
const RecoveryCreated Kind = "recovery_created"

// Event is a change of an account for the endpoints of the shops.
type Event struct {
	ID          string
	AccountID   string
	Change      Kind
	At          time.Time
	Body        []byte   // in the encoding of the API
	MerchantIDs []string // the shops, sorted
}

// Outcome holds the records that storage writes in the transaction of a change. The zero Outcome has none.
type Outcome struct {
	Entry audit.Change // entry of the audit log; none without an action
	Event Event        // event; none without an ID
}

// changed returns the outcome of a change of an account: its entry of the audit log, and its event for
// the shops of the account and of the given former roles.
func (s *Service) changed(a Account, kind Kind, former map[string]Role) Outcome {
	shops := maps.Clone(a.Roles)
	if shops == nil {
		shops = map[string]Role{}
	}
	maps.Copy(shops, former)
	e := Event{ID: "evt_" + s.Token(32), AccountID: a.ID, Change: kind, At: s.Now(), MerchantIDs: slices.Sorted(maps.Keys(shops))}
	e.Body = s.Encode(e)
	return Outcome{Entry: accountChange(a, "account."+string(kind)), Event: e}
}

// accountChange returns the entry of the audit log of an action about an account.
func accountChange(a Account, action string) audit.Change {
	return audit.Change{Action: action, Subject: a.Name}
}
