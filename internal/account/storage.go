package account

import (
	"context"
	"time"

	"chequer/internal/audit"
)

// Storage stores accounts, tickets and failed attempts. It is safe for concurrent use. Rows have a
// MAC, and sign-in methods are sealed; the methods of Storage return ErrTampered if a MAC is wrong. Each change
// is written with its entry of the audit log, and its event, in one transaction; a Change without an action has no entry.
// A function that is passed to a method may run more
// than once. If it returns an error, nothing is written, except by UpdateAttempts.
type Storage interface {
	// Accounts lists all accounts, oldest first.
	Accounts(ctx context.Context) ([]Account, error)
	// Account returns an account, or ErrNotFound.
	Account(ctx context.Context, id string) (Account, error)
	// AccountNamed returns the account with a NameKey, or ErrNotFound.
	AccountNamed(ctx context.Context, key string) (Account, error)
	// UpdateAccount locks an account and writes the result of change, or returns ErrNotFound.
	UpdateAccount(ctx context.Context, id string, change func(*Account) (Outcome, error)) (Account, error)
	// ChangeTeam locks all accounts and writes the accounts that change returns, removes the others with
	// their sessions, and uses up the ticket with a hash unless that is "". It returns ErrTicket if the
	// ticket is absent, and ErrExists if two accounts have one NameKey.
	ChangeTeam(ctx context.Context, ticketHash string, change func(Ticket, []Account) ([]Account, Outcome, error)) error
	TicketStorage
	SessionStorage
	// UpdateAttempts locks the attempts of a subject, calls change and writes the modified attempts, even if
	// change returns an error. It returns that error.
	UpdateAttempts(ctx context.Context, subject string, now time.Time, change func(*Attempts) error) error
	// UseNonce stores the use of a nonce under a key for ttl, and reports whether the nonce was unused before.
	UseNonce(ctx context.Context, key, nonce string, now time.Time, ttl time.Duration) (fresh bool, err error)
	// SecurityEntries lists at most limit entries of the audit log with numbers less than below that are about the wallets of a shop, or
	// about owners and sign-in methods of any account, newest first.
	SecurityEntries(ctx context.Context, merchantID string, below int64, limit int) ([]audit.Entry, error)
	// Record writes an entry of the audit log that belongs to no other change.
	Record(ctx context.Context, c audit.Change) error
}

// TicketStorage stores tickets.
type TicketStorage interface {
	// CreateTicket writes a ticket.
	CreateTicket(ctx context.Context, t Ticket, c audit.Change) error
	// Ticket returns a ticket by the hash of its token, even if it has expired. It returns ErrTicket if
	// there is no such ticket.
	Ticket(ctx context.Context, hash string) (Ticket, error)
	// Tickets lists the tickets of a kind that are valid at a time, oldest first.
	Tickets(ctx context.Context, kind TicketKind, now time.Time) ([]Ticket, error)
	// RemoveTicket removes a ticket by its ID. It returns ErrNotFound if there is no such ticket.
	RemoveTicket(ctx context.Context, id string, c audit.Change) error
}

// SessionStorage stores sessions.
type SessionStorage interface {
	// CreateSession writes a session, and removes sessions that have timed out and the session with the
	// former hash unless that is "".
	CreateSession(ctx context.Context, s Session, former string, c audit.Change) error
	// Session returns a session with its account by the hash of its token, or ErrNotFound.
	Session(ctx context.Context, hash string) (Session, Account, error)
	// Sessions lists the sessions of an account, last used first.
	Sessions(ctx context.Context, accountID string) ([]Session, error)
	// UseSession sets the last use of a session.
	UseSession(ctx context.Context, hash string, at time.Time) error
	// StepUpSession sets the time of the last confirmation of a session.
	StepUpSession(ctx context.Context, hash string, at time.Time, c audit.Change) error
	// EndSession removes the session of an account with an ID, or returns ErrNotFound.
	EndSession(ctx context.Context, accountID, id string, c audit.Change) error
	// EndSessions removes the sessions of an account except that with the hash keep, and returns their
	// number.
	EndSessions(ctx context.Context, accountID, keep string, c audit.Change) (int, error)
}
