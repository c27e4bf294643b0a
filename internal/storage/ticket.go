package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"chequer/internal/account"
	"chequer/internal/audit"
	"chequer/internal/seal"
)

// ticketRow is a ticket as stored in columns.
type ticketRow struct {
	hash, id, kind, accountID, roles, createdBy string
	createdAt, expiresAt                        int64
	mac                                         string
}

// newTicketRow returns the row of a ticket.
func newTicketRow(box *seal.Box, t account.Ticket) ticketRow {
	r := ticketRow{
		hash: t.Hash, id: t.ID, kind: string(t.Kind), accountID: t.AccountID, roles: jsonText(t.Roles), createdBy: t.CreatedBy,
		createdAt: t.CreatedAt.UnixMilli(), expiresAt: t.ExpiresAt.UnixMilli(),
	}
	r.mac = box.MAC("desk_tickets", r.fields()...)
	return r
}

// unseal verifies the row. It returns account.ErrTampered if the MAC is wrong.
func (r ticketRow) unseal(box *seal.Box) (account.Ticket, error) {
	t := account.Ticket{
		Hash: r.hash, ID: r.id, Kind: account.TicketKind(r.kind), AccountID: r.accountID, CreatedBy: r.createdBy,
		CreatedAt: utc(r.createdAt), ExpiresAt: utc(r.expiresAt),
	}
	if !box.Check(r.mac, "desk_tickets", r.fields()...) {
		return t, fmt.Errorf("ticket %s: %w", r.id, account.ErrTampered)
	}
	if err := json.Unmarshal([]byte(r.roles), &t.Roles); err != nil {
		return t, fmt.Errorf("ticket %s: %w", r.id, err)
	}
	return t, nil
}

// fields returns the fields that the row's MAC covers.
func (r ticketRow) fields() []string {
	return []string{
		r.hash, r.id, r.kind, r.accountID, r.roles, r.createdBy,
		strconv.FormatInt(r.createdAt, 10), strconv.FormatInt(r.expiresAt, 10),
	}
}

const ticketColumns = "token_hash, id, kind, account_id, roles, created_by, created_at, expires_at, mac"

func readTicketRow(row scanner) (r ticketRow, err error) {
	err = row.Scan(&r.hash, &r.id, &r.kind, &r.accountID, &r.roles, &r.createdBy, &r.createdAt, &r.expiresAt, &r.mac)
	return r, err
}

// CreateTicket implements account.Storage. It deletes expired tickets.
func (s *Storage) CreateTicket(ctx context.Context, t account.Ticket, c audit.Change) error {
	r := newTicketRow(s.box, t)
	return s.write(ctx, func(ctx context.Context, q querier) error {
		if _, err := q.ExecContext(ctx, "DELETE FROM desk_tickets WHERE expires_at <= $1", r.createdAt); err != nil {
			return fmt.Errorf("delete expired tickets: %w", err)
		}
		_, err := q.ExecContext(ctx, `
			INSERT INTO desk_tickets (token_hash, id, kind, account_id, roles, created_by, created_at, expires_at, mac)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			r.hash, r.id, r.kind, r.accountID, r.roles, r.createdBy, r.createdAt, r.expiresAt, r.mac)
		if err != nil {
			return fmt.Errorf("write ticket: %w", err)
		}
		return s.record(ctx, q, c)
	})
}

// Ticket implements account.Storage.
func (s *Storage) Ticket(ctx context.Context, hash string) (account.Ticket, error) {
	r, err := readOne(ctx, s, readTicketRow, "SELECT "+ticketColumns+" FROM desk_tickets WHERE token_hash = $1", hash)
	if err != nil {
		return account.Ticket{}, ticketNotFound(err)
	}
	return r.unseal(s.box)
}

// takeTicket reads and deletes a ticket. The use of a ticket of the first run deletes all tickets of the first run.
func (s *Storage) takeTicket(ctx context.Context, q querier, hash string) (account.Ticket, error) {
	r, err := readTicketRow(q.QueryRowContext(ctx, "SELECT "+ticketColumns+" FROM desk_tickets WHERE token_hash = $1"+s.engine.ForUpdate, hash))
	if err != nil {
		return account.Ticket{}, ticketNotFound(err)
	}
	t, err := r.unseal(s.box)
	if err != nil {
		return t, err
	}
	_, err = q.ExecContext(ctx, "DELETE FROM desk_tickets WHERE token_hash = $1 OR kind = $2 AND kind = 'start'", hash, r.kind)
	if err != nil {
		return t, fmt.Errorf("use ticket: %w", err)
	}
	return t, nil
}

// Tickets implements account.Storage.
func (s *Storage) Tickets(ctx context.Context, kind account.TicketKind, now time.Time) ([]account.Ticket, error) {
	rows, err := readAll(ctx, s, "read tickets", readTicketRow,
		"SELECT "+ticketColumns+" FROM desk_tickets WHERE kind = $1 AND expires_at > $2 ORDER BY created_at, id", string(kind), now.UnixMilli())
	if err != nil {
		return nil, err
	}
	return unsealAll(s.box, rows)
}

// RemoveTicket implements account.Storage.
func (s *Storage) RemoveTicket(ctx context.Context, id string, c audit.Change) error {
	return s.changeRecorded(ctx, c, "remove ticket", account.ErrNotFound, "DELETE FROM desk_tickets WHERE id = $1", id)
}

// ticketNotFound returns account.ErrTicket if err means that there is no row.
func ticketNotFound(err error) error {
	if err = accountNotFound(err, "read ticket"); errors.Is(err, account.ErrNotFound) {
		return account.ErrTicket
	}
	return err
}
