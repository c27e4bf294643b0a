package notify

import (
	"context"
	"time"

	"chequer/internal/account"
	"chequer/internal/audit"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
)

// Storage stores settings, choices, cursors and the outbox. It is safe for concurrent use, also by several
// processes. Each change by an account is written with its entry of the audit log in one transaction.
type Storage interface {
	SettingsStorage
	CollectorStorage
	Outbox
}

// SettingsStorage stores what accounts choose.
type SettingsStorage interface {
	// NotificationSettings returns the settings of an account; zero if it has set none.
	NotificationSettings(ctx context.Context, accountID string) (Settings, error)
	// UpdateNotificationSettings locks the settings of an account, calls change and writes the result. If
	// change returns an error, nothing is written.
	UpdateNotificationSettings(ctx context.Context, accountID string, change func(*Settings) (audit.Change, error)) error
	// NotificationChoices returns the choices of an account in a shop.
	NotificationChoices(ctx context.Context, accountID, merchantID string) ([]Choice, error)
	// SaveNotificationChoices replaces them. If the shop had no choices, its cursor moves to the end of the
	// feed, so that older events are not reported. The day of the first summary is the one after today.
	SaveNotificationChoices(ctx context.Context, accountID, merchantID string, choices []Choice, today int64, c audit.Change) error
}

// CollectorStorage stores what was reported.
type CollectorStorage interface {
	// NotificationFeeds returns the shops with choices whose feeds have events after the cursor.
	NotificationFeeds(ctx context.Context) ([]Feed, error)
	// FeedEvents returns at most limit events of all modes after a position.
	FeedEvents(ctx context.Context, merchantID string, after int64, limit int) ([]FeedEvent, error)
	// Subscribers returns the accounts with choices in a shop, or in any shop if the ID is "". If some accounts
	// cannot be read, it returns the others, and an error.
	Subscribers(ctx context.Context, merchantID string) ([]Subscriber, error)
	// Invoice returns an invoice, or invoice.ErrNotFound, or an *invoice.UnreadableError.
	Invoice(ctx context.Context, id string) (*invoice.Invoice, error)
	invoice.UnreadableStorage
	// AdvanceNotifications moves the cursor of a feed, writes the cases and the entries that were collected
	// up to there, and reports whether it did: false means that another process has moved the cursor. A case
	// that is already recorded in the same state adds no entries.
	AdvanceNotifications(ctx context.Context, f Feed, to int64, notices []Notice, now time.Time) (bool, error)
	// RecordFaults records the present faults. It adds the entries that report returns for the faults that
	// have lasted since maxSince or longer, and were not reported yet, and last reported before reportedBefore.
	RecordFaults(ctx context.Context, present []Fault, now, maxSince, reportedBefore time.Time, report func([]Fault) []Entry) error
	// RecordSummary adds the entries of an account's summary of a day unless it has had one of that day or a later day.
	RecordSummary(ctx context.Context, accountID string, day int64, entries []Entry, now time.Time) error
	// PaidBetween returns the sums of a shop's live invoices that became paid at from or later, and before to.
	PaidBetween(ctx context.Context, merchantID string, from, to time.Time) ([]PaidSum, error)
	// Tally counts the invoices of a merchant and a mode.
	Tally(ctx context.Context, merchantID string, mode invoice.Mode, at time.Time) (invoice.Tally, error)
	// Merchants lists the shops.
	Merchants(ctx context.Context) ([]merchant.Merchant, error)
}

// Outbox stores messages until they are sent.
type Outbox interface {
	// AddTestMessage writes a test message for each entry. It returns ErrTooMany if the account got one after since,
	// or maxDay after dayAgo.
	AddTestMessage(ctx context.Context, entries []Entry, now, since, dayAgo time.Time, maxDay int, c audit.Change) error
	// ClaimMessages claims at most limit due messages of a channel until a time, oldest first.
	ClaimMessages(ctx context.Context, c Channel, now, until time.Time, limit int) ([]Claim, error)
	// SaveOutcome stores the outcome of a claimed message. If the claim has expired, it is stored only if the
	// message was sent.
	SaveOutcome(ctx context.Context, c Claim, o Outcome) error
	// Messages returns the newest messages of an account, newest first.
	Messages(ctx context.Context, accountID string, limit int) ([]Message, error)
	// FailedMessages returns the messages, except test messages, that were given up since a time, newest first.
	FailedMessages(ctx context.Context, since time.Time, limit int) ([]Message, error)
	// DeleteMessages deletes messages that ended before a time, and cases that were reported before it.
	DeleteMessages(ctx context.Context, before time.Time) error
	// NotificationSettings is that of SettingsStorage.
	NotificationSettings(ctx context.Context, accountID string) (Settings, error)
	// Account returns an account, or account.ErrNotFound.
	Account(ctx context.Context, id string) (account.Account, error)
}

// Feed is the feed of a shop with the position up to which it was reported.
type Feed struct {
	MerchantID string
	Cursor     int64
	End        int64 // position of the newest event, or of a later change without an event
}

// FeedEvent is an event of a feed.
type FeedEvent struct {
	Position  int64
	Type      invoice.EventType
	Mode      invoice.Mode
	InvoiceID string // "" if it is about no invoice
}

// Notice has the entries of one event.
type Notice struct {
	InvoiceID string
	Case      string // state of the case, after the last decision; "" if the event is not about a case
	Entries   []Entry
}

// Subscriber is an account with its settings and its choices by shop.
type Subscriber struct {
	Account  account.Account
	Settings Settings
	Choices  map[string][]Choice
	// Summarised is the day of the last summary by the account's clock, in days since 1970.
	Summarised int64
}

// PaidSum is the sum of paid invoices in one currency.
type PaidSum struct {
	Invoices int64
	Received money.Amount
}
