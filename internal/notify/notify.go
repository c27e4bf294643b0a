// Package notify sends notifications to the accounts of the desk: about payments, cases that need a decision,
// faults, and the sums of a day. It writes messages to an outbox and sends them by e-mail and by push.
//
// A message of an invoice is not written in the transaction that changes the invoice. The feed of events
// already records every change in that transaction, and a reader that sees a position of the feed has seen
// all lower ones. So the Collector follows the feed of each shop with a cursor, and moves the cursor in the
// transaction that writes the messages. Each event is reported once, even if several processes run or one of them
// crashes. A settlement therefore writes nothing for notifications, never waits for the row of a message, and is
// not undone by an error of a notification.
//
// A message is sent at least once. If a process ends after the mail server has accepted a message and before it
// records this, its claim expires and the message is sent again. The header Message-ID of both copies is the same.
package notify

import (
	"slices"

	"chequer/internal/account"
)

// Kind is the kind of a notification.
type Kind string

// The kinds. An account chooses among all but Test and Verification.
const (
	Sold      Kind = "sold"      // invoices that became paid
	Attention Kind = "attention" // invoices that wait for a decision
	Broken    Kind = "broken"    // faults of the server, its networks and the webhooks
	Summary   Kind = "summary"   // the sums of a day
	Test      Kind = "test"      // requested at the desk

	Verification Kind = "verification" // the link that confirms an e-mail address
)

// Kinds are the kinds that an account chooses from.
var Kinds = []Kind{Sold, Attention, Broken, Summary}

// permissions are the permissions that an account needs in a shop to get a kind.
var permissions = map[Kind]account.Permission{
	Sold: account.ViewPayments, Attention: account.Decide, Broken: account.ViewHealth, Summary: account.ViewPayments,
}

// AllowedTo reports whether an account may get the kind in a shop.
func (k Kind) AllowedTo(a account.Account, merchantID string) bool {
	needs, known := permissions[k]
	return known && a.Allows(merchantID, needs) != account.Denied
}

// AllowedInAnyShop reports whether an account may get the kind in one of its shops.
func (k Kind) AllowedInAnyShop(a account.Account) bool {
	return slices.ContainsFunc(a.Shops(), func(merchantID string) bool { return k.AllowedTo(a, merchantID) })
}

// Channel is a way to reach an account.
type Channel string

// The channels.
const (
	Mail Channel = "mail"
	Push Channel = "push"
)

// Label returns the key of the channel's name as a label.
func (c Channel) Label() string { return labels[c] }

// labels are the keys of the names of channels.
var labels = map[Channel]string{Mail: "desk.notifications.mail", Push: "desk.notifications.push"}

// Channels are all channels.
var Channels = []Channel{Mail, Push}

// Choice is a kind that reaches an account by a channel in one shop.
type Choice struct {
	Kind    Kind
	Channel Channel
}

// Valid reports whether an account can choose the kind, and whether the channel exists.
func (c Choice) Valid() bool {
	return slices.Contains(Kinds, c.Kind) && slices.Contains(Channels, c.Channel)
}
