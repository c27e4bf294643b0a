package storage

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"chequer/internal/account"
	"chequer/internal/audit"
	"chequer/internal/seal"
)

// sessionRow is a session as stored in columns.
type sessionRow struct {
	hash, accountID, method, address, browser string
	createdAt, usedAt                         int64
	steppedUpAt                               sql.Null[int64]
	mac                                       string
}

// newSessionRow returns the row of a session.
func newSessionRow(box *seal.Box, s account.Session) sessionRow {
	r := sessionRow{
		hash: s.Hash, accountID: s.AccountID, method: string(s.Method), address: s.Client.Address, browser: s.Client.Browser,
		createdAt: s.CreatedAt.UnixMilli(), usedAt: s.UsedAt.UnixMilli(), steppedUpAt: millis(s.SteppedUpAt),
	}
	r.mac = box.MAC("desk_sessions", r.fields()...)
	return r
}

// unseal verifies the row. It returns account.ErrTampered if the MAC is wrong.
func (r sessionRow) unseal(box *seal.Box) (account.Session, error) {
	s := account.Session{
		Hash: r.hash, AccountID: r.accountID, Method: account.Method(r.method), Client: account.Client{Address: r.address, Browser: r.browser},
		CreatedAt: utc(r.createdAt), UsedAt: utc(r.usedAt), SteppedUpAt: fromMillis(r.steppedUpAt),
	}
	if !box.Check(r.mac, "desk_sessions", r.fields()...) {
		return s, fmt.Errorf("session of account %s: %w", r.accountID, account.ErrTampered)
	}
	return s, nil
}

// fields returns the fields that the row's MAC covers.
func (r sessionRow) fields() []string {
	return []string{r.hash, r.accountID, r.method, r.address, r.browser, strconv.FormatInt(r.createdAt, 10), nullText(r.steppedUpAt)}
}

const sessionColumns = "token_hash, account_id, method, address, browser, created_at, used_at, stepped_up_at, mac"

func readSessionRow(row scanner) (r sessionRow, err error) {
	err = row.Scan(&r.hash, &r.accountID, &r.method, &r.address, &r.browser, &r.createdAt, &r.usedAt, &r.steppedUpAt, &r.mac)
	return r, err
}

// CreateSession implements account.Storage.
func (s *Storage) CreateSession(ctx context.Context, session account.Session, former string, c audit.Change) error {
	r := newSessionRow(s.box, session)
	return s.write(ctx, func(ctx context.Context, q querier) error {
		lastUse, created := account.Expiry(session.CreatedAt)
		if _, err := q.ExecContext(ctx, "DELETE FROM desk_sessions WHERE used_at <= $1 OR created_at <= $2", lastUse.UnixMilli(), created.UnixMilli()); err != nil {
			return fmt.Errorf("delete old sessions: %w", err)
		}
		if former != "" {
			if _, err := q.ExecContext(ctx, "DELETE FROM desk_sessions WHERE token_hash = $1", former); err != nil {
				return fmt.Errorf("end former session: %w", err)
			}
		}
		_, err := q.ExecContext(ctx, `
			INSERT INTO desk_sessions (token_hash, account_id, method, address, browser, created_at, used_at, stepped_up_at, mac)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			r.hash, r.accountID, r.method, r.address, r.browser, r.createdAt, r.usedAt, r.steppedUpAt, r.mac)
		if err != nil {
			return fmt.Errorf("write session: %w", err)
		}
		return s.record(ctx, q, c)
	})
}

// Session implements account.Storage.
func (s *Storage) Session(ctx context.Context, hash string) (account.Session, account.Account, error) {
	type found struct {
		session sessionRow
		account deskAccountRow
	}
	f, err := readOne(ctx, s, func(row scanner) (f found, err error) {
		r, a := &f.session, &f.account
		err = row.Scan(&r.hash, &r.accountID, &r.method, &r.address, &r.browser, &r.createdAt, &r.usedAt, &r.steppedUpAt, &r.mac,
			&a.id, &a.name, &a.nameKey, &a.roles, &a.signIn, &a.createdAt, &a.preferences, &a.mac)
		return f, err
	}, `
		SELECT s.token_hash, s.account_id, s.method, s.address, s.browser, s.created_at, s.used_at, s.stepped_up_at, s.mac,
			a.id, a.name, a.name_key, a.roles, a.sign_in, a.created_at, a.preferences, a.mac
		FROM desk_sessions s JOIN desk_accounts a ON a.id = s.account_id WHERE s.token_hash = $1`, hash)
	if err != nil {
		return account.Session{}, account.Account{}, accountNotFound(err, "read session")
	}
	session, err := f.session.unseal(s.box)
	if err != nil {
		return session, account.Account{}, err
	}
	a, err := f.account.unseal(s.box)
	return session, a, err
}

// Sessions implements account.Storage.
func (s *Storage) Sessions(ctx context.Context, accountID string) ([]account.Session, error) {
	rows, err := readAll(ctx, s, "read sessions", readSessionRow,
		"SELECT "+sessionColumns+" FROM desk_sessions WHERE account_id = $1 ORDER BY used_at DESC, token_hash", accountID)
	if err != nil {
		return nil, err
	}
	return unsealAll(s.box, rows)
}

// UseSession implements account.Storage.
func (s *Storage) UseSession(ctx context.Context, hash string, at time.Time) error {
	return s.change(ctx, "write use of session", nil, "UPDATE desk_sessions SET used_at = $2 WHERE token_hash = $1 AND used_at < $2", hash, at.UnixMilli())
}

// StepUpSession implements account.Storage.
func (s *Storage) StepUpSession(ctx context.Context, hash string, at time.Time, c audit.Change) error {
	return s.write(ctx, func(ctx context.Context, q querier) error {
		r, err := readSessionRow(q.QueryRowContext(ctx, "SELECT "+sessionColumns+" FROM desk_sessions WHERE token_hash = $1"+s.engine.ForUpdate, hash))
		if err != nil {
			return accountNotFound(err, "read session")
		}
		session, err := r.unseal(s.box)
		if err != nil {
			return err
		}
		session.SteppedUpAt = at
		r = newSessionRow(s.box, session)
		if _, err := q.ExecContext(ctx, "UPDATE desk_sessions SET stepped_up_at = $2, mac = $3 WHERE token_hash = $1", hash, r.steppedUpAt, r.mac); err != nil {
			return fmt.Errorf("write session: %w", err)
		}
		return s.record(ctx, q, c)
	})
}

// EndSession implements account.Storage.
func (s *Storage) EndSession(ctx context.Context, accountID, id string, c audit.Change) error {
	return s.changeRecorded(ctx, c, "end session", account.ErrNotFound,
		"DELETE FROM desk_sessions WHERE account_id = $1 AND SUBSTR(token_hash, 1, 16) = $2", accountID, id)
}

// EndSessions implements account.Storage.
func (s *Storage) EndSessions(ctx context.Context, accountID, keptHash string, c audit.Change) (int, error) {
	return answer(ctx, s.write, func(ctx context.Context, q querier) (int, error) {
		n, err := exec(ctx, q, "DELETE FROM desk_sessions WHERE account_id = $1 AND token_hash <> $2", accountID, keptHash)
		if err != nil {
			return 0, fmt.Errorf("end sessions: %w", err)
		}
		if n == 0 {
			return 0, nil
		}
		return int(n), s.record(ctx, q, c)
	})
}
