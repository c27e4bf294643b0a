package storage

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"chequer/internal/audit"
	"chequer/internal/notify"
	"chequer/internal/token"
)

// addEntries adds entries to the outbox. It writes messages in the order of their messageKey, so that no two transactions
// wait for each other on PostgreSQL.
func (s *Storage) addEntries(ctx context.Context, q querier, entries []notify.Entry, now time.Time) error {
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, func(a, b notify.Entry) int {
		return strings.Compare(messageKey(a), messageKey(b))
	})
	for start := 0; start < len(entries); {
		end := start + 1
		for end < len(entries) && messageKey(entries[end]) == messageKey(entries[start]) {
			end++
		}
		if err := s.addToMessage(ctx, q, entries[start:end], now); err != nil {
			return fmt.Errorf("write message: %w", err)
		}
		start = end
	}
	return nil
}

// messageKey identifies the message to which an entry belongs.
func messageKey(e notify.Entry) string {
	return fmt.Sprint(e.AccountID, " ", e.Channel, " ", e.Kind, " ", e.DueAt.UnixMilli())
}

// addToMessage adds entries to the message that is due at their time, or a minute later if a process has
// claimed that message.
func (s *Storage) addToMessage(ctx context.Context, q querier, entries []notify.Entry, now time.Time) error {
	first := entries[0]
	for due := first.DueAt; ; due = due.Add(time.Minute) {
		m, open, err := s.openMessage(ctx, q, first, due, now)
		if err != nil {
			return err
		}
		if !open {
			continue
		}
		for _, e := range entries {
			m.Add(e.Item)
		}
		_, err = q.ExecContext(ctx, "UPDATE messages SET items = $2, more = $3 WHERE id = $1", m.ID, jsonText(m.Items), m.More)
		return err
	}
}

// openMessage locks the message of an entry that is due at a time. It creates the message if it does not exist, and reports
// whether items can be added.
func (s *Storage) openMessage(ctx context.Context, q querier, e notify.Entry, due, now time.Time) (m notify.Message, open bool, err error) {
	_, err = q.ExecContext(ctx, `
		INSERT INTO messages (id, account_id, channel, kind, due_at, items, more, state, tries, fault, created_at, next_try_at)
		VALUES ($1, $2, $3, $4, $5, '[]', 0, 'pending', 0, '', $6, $5)
		ON CONFLICT (account_id, channel, kind, due_at) DO NOTHING`,
		"msg_"+token.New(24), e.AccountID, string(e.Channel), string(e.Kind), due.UnixMilli(), now.UnixMilli())
	if err != nil {
		return m, false, err
	}
	m, err = readMessage(q.QueryRowContext(ctx, "SELECT "+messageColumns+` FROM messages
		WHERE account_id = $1 AND channel = $2 AND kind = $3 AND due_at = $4`+s.engine.ForUpdate,
		e.AccountID, string(e.Channel), string(e.Kind), due.UnixMilli()))
	return m, err == nil && m.Attempts == 0 && m.NextAttemptAt.Equal(due), err
}

// messageColumns are the columns that readMessage reads.
const messageColumns = "id, account_id, channel, kind, state, items, more, tries, fault, created_at, first_try_at, next_try_at"

func readMessage(row scanner) (m notify.Message, err error) {
	var items string
	var createdAt int64
	var firstAttemptAt, nextAttemptAt sql.Null[int64]
	err = row.Scan(&m.ID, &m.AccountID, &m.Channel, &m.Kind, &m.State, &items, &m.More, &m.Attempts, &m.Fault, &createdAt, &firstAttemptAt, &nextAttemptAt)
	if err != nil {
		return m, err
	}
	m.CreatedAt, m.FirstAttemptAt, m.NextAttemptAt = utc(createdAt), fromMillis(firstAttemptAt), fromMillis(nextAttemptAt)
	return m, json.Unmarshal([]byte(items), &m.Items)
}

// AddTestMessage implements notify.Outbox. It locks the settings of the account, so that two calls do not
// count the same messages.
func (s *Storage) AddTestMessage(ctx context.Context, r notify.Request, c audit.Change) error {
	return s.write(ctx, func(ctx context.Context, q querier) error {
		if _, err := s.lockSettings(ctx, q, r.Entries[0].AccountID); err != nil {
			return err
		}
		if err := s.addRequest(ctx, q, r); err != nil {
			return err
		}
		return s.record(ctx, q, c)
	})
}

// addRequest writes the messages of a request unless its limits are reached. The settings of the account are locked.
func (s *Storage) addRequest(ctx context.Context, q querier, r notify.Request) error {
	if len(r.Entries) == 0 {
		return nil
	}
	var lately, today int
	err := q.QueryRowContext(ctx, `
		SELECT COUNT(DISTINCT CASE WHEN created_at > $3 THEN created_at END), COUNT(DISTINCT created_at) FROM messages
		WHERE account_id = $1 AND kind = $2 AND created_at > $4`,
		r.Entries[0].AccountID, string(r.Entries[0].Kind), r.Since.UnixMilli(), r.DayAgo.UnixMilli()).Scan(&lately, &today)
	if err != nil {
		return fmt.Errorf("count requested messages: %w", err)
	}
	if lately > 0 || today >= r.MaxDay {
		return notify.ErrTooMany
	}
	return s.addEntries(ctx, q, r.Entries, r.Now)
}

// ClaimMessages implements notify.Outbox. A claimed message is due again when its claim ends, so that it is
// not lost if the process ends.
func (s *Storage) ClaimMessages(ctx context.Context, channel notify.Channel, now, until time.Time, limit int) ([]notify.Claim, error) {
	due, err := readAll(ctx, s, "read due messages", column[string], dueMessages, string(channel), now.UnixMilli(), limit)
	if err != nil || len(due) == 0 {
		return nil, err // the usual case does not write
	}
	claims, err := answer(ctx, s.write, func(ctx context.Context, q querier) (claims []notify.Claim, err error) {
		ids, err := list(ctx, q, column[string], dueMessages+s.engine.SkipLocked, string(channel), now.UnixMilli(), limit)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			m, err := readMessage(q.QueryRowContext(ctx, "UPDATE messages SET next_try_at = $2 WHERE id = $1 RETURNING "+messageColumns, id, until.UnixMilli()))
			if err != nil {
				return nil, err
			}
			claims = append(claims, notify.Claim{Message: m, Until: until})
		}
		return claims, nil
	})
	if err != nil {
		return nil, fmt.Errorf("claim messages: %w", err)
	}
	return claims, nil
}

// dueMessages selects the messages of a channel that are due.
const dueMessages = "SELECT id FROM messages WHERE channel = $1 AND next_try_at <= $2 ORDER BY next_try_at LIMIT $3"

// SaveOutcome implements notify.Outbox.
func (s *Storage) SaveOutcome(ctx context.Context, c notify.Claim, o notify.Outcome) error {
	attempts := 0
	if !o.At.IsZero() { // the message was sent, or its sending failed
		attempts = 1
	}
	_, err := answer(ctx, s.write, func(ctx context.Context, q querier) (int64, error) {
		return exec(ctx, q, `
			UPDATE messages SET tries = tries + $2, first_try_at = COALESCE(first_try_at, $3), state = $4, next_try_at = $5, fault = $6
			WHERE id = $1 AND ($4 = 'sent' OR next_try_at = $7)`,
			c.ID, attempts, millis(o.At), string(o.State), millis(o.NextAttemptAt), o.Fault, c.Until.UnixMilli())
	})
	if err != nil {
		return fmt.Errorf("save outcome of %s: %w", c.ID, err)
	}
	return nil
}

// Messages implements notify.Outbox.
func (s *Storage) Messages(ctx context.Context, accountID string, limit int) ([]notify.Message, error) {
	return readAll(ctx, s, "read messages", readMessage, messagesOfAccount, accountID, limit)
}

// messagesOfAccount is the statement of Messages.
const messagesOfAccount = "SELECT " + messageColumns + " FROM messages WHERE account_id = $1 ORDER BY created_at DESC LIMIT $2"

// FailedMessages implements notify.Outbox.
func (s *Storage) FailedMessages(ctx context.Context, since time.Time, limit int) ([]notify.Message, error) {
	return readAll(ctx, s, "read failed messages", readMessage, failedMessages, since.UnixMilli(), limit)
}

// failedMessages is the statement of FailedMessages.
const failedMessages = "SELECT " + messageColumns + ` FROM messages
	WHERE state = 'failed' AND kind NOT IN ('test', 'verification') AND created_at >= $1 ORDER BY created_at DESC LIMIT $2`

// ChoosesMail reports whether any account has chosen e-mail.
func (s *Storage) ChoosesMail(ctx context.Context) (bool, error) {
	n, err := readOne(ctx, s, column[int], "SELECT COUNT(*) FROM (SELECT 1 FROM notification_choices WHERE channel = $1 LIMIT 1) c", string(notify.Mail))
	if err != nil {
		return false, fmt.Errorf("read notification choices: %w", err)
	}
	return n > 0, nil
}

// DeleteMessages implements notify.Outbox.
func (s *Storage) DeleteMessages(ctx context.Context, before time.Time) error {
	old, err := readOne(ctx, s, column[int], `
		SELECT COUNT(*) FROM (
			SELECT id FROM messages WHERE state IN ('sent', 'failed', 'dropped') AND created_at < $1
			UNION ALL SELECT invoice_id FROM notified_cases WHERE notified_at < $1) o`, before.UnixMilli())
	if err != nil || old == 0 {
		return err
	}
	return s.write(ctx, func(ctx context.Context, q querier) error {
		for _, statement := range []string{
			"DELETE FROM messages WHERE state IN ('sent', 'failed', 'dropped') AND created_at < $1",
			"DELETE FROM notified_cases WHERE notified_at < $1",
		} {
			if _, err := q.ExecContext(ctx, statement, before.UnixMilli()); err != nil {
				return fmt.Errorf("delete messages: %w", err)
			}
		}
		return nil
	})
}

// deleteNotifications deletes the notifications of an account. It is part of the transaction that removes the
// account.
func deleteNotifications(ctx context.Context, q querier, accountID string) error {
	for _, statement := range []string{
		"DELETE FROM notification_settings WHERE account_id = $1",
		"DELETE FROM notification_choices WHERE account_id = $1",
		"DELETE FROM messages WHERE account_id = $1",
	} {
		if _, err := q.ExecContext(ctx, statement, accountID); err != nil {
			return fmt.Errorf("delete notifications: %w", err)
		}
	}
	return nil
}
