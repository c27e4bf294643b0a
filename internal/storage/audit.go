package storage

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"chequer/internal/audit"
	"chequer/internal/storage/engine"
)

// recorder collects the actor of a transaction, and the heads of the audit log before and after it.
type recorder struct {
	actor        audit.Actor
	before, head audit.Head
}

type recorderKey struct{}

// recorderOf returns the recorder of the transaction of a context.
func recorderOf(ctx context.Context) *recorder { return ctx.Value(recorderKey{}).(*recorder) }

// write runs work in a transaction: see engine.Engine.Write. The results of work must be returned
// through answer. The entries that work records name the actor of the context.
func (s *Storage) write(ctx context.Context, w work) error {
	r, err := engine.Answer(ctx, s.engine.Write, func(tx context.Context, q querier) (recorder, error) {
		r := &recorder{actor: audit.ActorOf(ctx)}
		err := w(context.WithValue(tx, recorderKey{}, r), q)
		return *r, err
	})
	if err == nil && r.head.Number > 0 {
		if err := s.raiseMark(context.WithoutCancel(ctx), r.before, r.head); err != nil {
			s.log.Warn("mark of the audit log not raised", "error", err)
		}
	}
	return err
}

// raiseMark raises the mark to the head of the log after a change, unless the log does not contain the
// present mark. The mark is usually the head before the change. It is an earlier head if the process that
// wrote the previous entry has not raised the mark yet.
func (s *Storage) raiseMark(ctx context.Context, before, head audit.Head) error {
	return s.auditMark.Raise(head, func(current audit.Head) (bool, error) {
		if current == before {
			return true, nil
		}
		macs, err := readAll(ctx, s, "read entry of audit log", column[string], "SELECT mac FROM audit_log WHERE number = $1", current.Number)
		return len(macs) == 1 && macs[0] == current.MAC, err
	})
}

// record appends an entry to the audit log in the transaction of a change, which runs with write. It is
// the last statement of the transaction, because it locks the end of the log. A change without an
// action has no entry.
func (s *Storage) record(ctx context.Context, q querier, c audit.Change) error {
	if c.Action == "" {
		return nil
	}
	r := recorderOf(ctx)
	var head audit.Head
	err := q.QueryRowContext(ctx, `
		INSERT INTO audit_head (id, number, mac) VALUES (1, 0, '')
		ON CONFLICT (id) DO UPDATE SET number = audit_head.number
		RETURNING number, mac`).Scan(&head.Number, &head.MAC)
	if err != nil {
		return fmt.Errorf("lock audit log: %w", err)
	}
	if r.head.Number == 0 {
		r.before = head
	}
	e := audit.Append(s.box, head, s.now(), r.actor, c)
	_, err = q.ExecContext(ctx, `
		INSERT INTO audit_log (number, at, actor_kind, actor_id, actor_name, address, stepped_up, merchant_id, action, subject, old_values, new_values, mac)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
		e.Number, e.At.UnixMilli(), string(e.Actor.Kind), e.Actor.ID, e.Actor.Name, e.Actor.Address, e.Actor.SteppedUp,
		c.MerchantID, c.Action, c.Subject, fieldsText(c.Before), fieldsText(c.After), e.MAC)
	if err != nil {
		return fmt.Errorf("write audit log: %w", err)
	}
	if _, err := q.ExecContext(ctx, "UPDATE audit_head SET number = $1, mac = $2 WHERE id = 1", e.Number, e.MAC); err != nil {
		return fmt.Errorf("write end of audit log: %w", err)
	}
	r.head = e.Head()
	return nil
}

// Record implements account.Storage.
func (s *Storage) Record(ctx context.Context, c audit.Change) error {
	return s.write(ctx, func(ctx context.Context, q querier) error { return s.record(ctx, q, c) })
}

// changeRecorded is change with an entry of the audit log.
func (s *Storage) changeRecorded(ctx context.Context, c audit.Change, action string, unchanged error, query string, args ...any) error {
	changed, err := answer(ctx, s.write, func(ctx context.Context, q querier) (int64, error) {
		n, err := exec(ctx, q, query, args...)
		if err != nil || n == 0 {
			return n, err
		}
		return n, s.record(ctx, q, c)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", action, err)
	}
	if changed == 0 {
		return unchanged
	}
	return nil
}

// AuditLog lists the entries with a number below a number, newest first; 0 begins with the newest.
func (s *Storage) AuditLog(ctx context.Context, before int64, limit int) ([]audit.Entry, error) {
	if before <= 0 {
		return readAll(ctx, s, "read audit log", readEntry, "SELECT "+entryColumns+" FROM audit_log ORDER BY number DESC LIMIT $1", limit)
	}
	return readAll(ctx, s, "read audit log", readEntry, "SELECT "+entryColumns+" FROM audit_log WHERE number < $1 ORDER BY number DESC LIMIT $2", before, limit)
}

// securityActions are the actions of the index audit_log_of_security, written as in the definition of the index.
const securityActions = `('wallet.added', 'wallet.replaced', 'wallet.removed',
	'account.created', 'account.removed', 'account.roles_changed', 'account.recovery_created', 'account.recovered',
	'account.password_set', 'account.password_removed', 'account.passkey_added', 'account.passkey_removed')`

// securityEntries reads the newest entries about wallets of a shop or, without a shop, about accounts.
const securityEntries = "SELECT " + entryColumns + " FROM audit_log WHERE merchant_id = $1 AND action IN " + securityActions + " AND number < $2 ORDER BY number DESC LIMIT $3"

// SecurityEntries implements account.Storage.
func (s *Storage) SecurityEntries(ctx context.Context, merchantID string, below int64, limit int) (all []audit.Entry, err error) {
	for _, shop := range []string{merchantID, ""} {
		entries, err := readAll(ctx, s, "read audit log", readEntry, securityEntries, shop, below, limit)
		if err != nil {
			return nil, err
		}
		all = append(all, entries...)
	}
	slices.SortFunc(all, func(a, b audit.Entry) int { return cmp.Compare(b.Number, a.Number) })
	return all[:min(limit, len(all))], nil
}

// VerifyAuditLog verifies the whole audit log and returns its end. The error is an *audit.BrokenError if
// an entry was changed, removed, moved or replaced.
func (s *Storage) VerifyAuditLog(ctx context.Context) (audit.Head, error) {
	mark, err := s.auditMark.Head() // before the log is read, so that the log cannot be older
	if err != nil {
		return audit.Head{}, err
	}
	head, err := answer(ctx, s.snapshot, func(ctx context.Context, q querier) (audit.Head, error) {
		v := audit.NewVerifier(s.box, mark)
		err := visitRows(ctx, q, func(row scanner) error {
			e, err := readEntry(row)
			if err != nil {
				return err
			}
			return v.Next(e)
		}, "SELECT "+entryColumns+" FROM audit_log ORDER BY number")
		if err != nil {
			return audit.Head{}, err
		}
		stored, err := auditHead(ctx, q)
		if err != nil {
			return audit.Head{}, err
		}
		return v.End(stored)
	})
	if err != nil {
		return head, fmt.Errorf("verify audit log: %w", err)
	}
	return head, s.raiseMark(ctx, mark, head)
}

// Restored prepares a restored database for use. The end of its audit log becomes the mark, because the
// former mark may be that of a later entry. Sessions and tickets are removed: they may have ended or been used since the
// backup. The restore is an entry of the log.
func (s *Storage) Restored(ctx context.Context) error {
	head, err := answer(ctx, s.read, auditHead)
	if err != nil {
		return err
	}
	if err := s.auditMark.Reset(head); err != nil {
		return err
	}
	return s.write(ctx, func(ctx context.Context, q querier) error {
		for _, statement := range []string{"DELETE FROM desk_sessions", "DELETE FROM desk_tickets"} {
			if _, err := q.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("end sessions and tickets: %w", err)
			}
		}
		return s.record(ctx, q, audit.Change{Action: "backup.restored"})
	})
}

// auditHead returns the end of the audit log.
func auditHead(ctx context.Context, q querier) (head audit.Head, err error) {
	err = q.QueryRowContext(ctx, "SELECT number, mac FROM audit_head WHERE id = 1").Scan(&head.Number, &head.MAC)
	if err != nil && !engine.Absent(err) {
		return head, fmt.Errorf("read end of audit log: %w", err)
	}
	return head, nil
}

const entryColumns = "number, at, actor_kind, actor_id, actor_name, address, stepped_up, merchant_id, action, subject, old_values, new_values, mac"

func readEntry(row scanner) (e audit.Entry, err error) {
	var at int64
	var before, after string
	err = row.Scan(&e.Number, &at, &e.Actor.Kind, &e.Actor.ID, &e.Actor.Name, &e.Actor.Address, &e.Actor.SteppedUp,
		&e.Change.MerchantID, &e.Change.Action, &e.Change.Subject, &before, &after, &e.MAC)
	if err != nil {
		return e, err
	}
	e.At = utc(at)
	if e.Change.Before, err = parseFields(before); err == nil {
		e.Change.After, err = parseFields(after)
	}
	if err != nil {
		return e, fmt.Errorf("%w: %w", &audit.BrokenError{Number: e.Number, Fault: "was changed"}, err)
	}
	return e, nil
}

func fieldsText(f audit.Fields) string {
	if len(f) == 0 {
		return ""
	}
	return jsonText(f)
}

func parseFields(text string) (f audit.Fields, err error) {
	if text == "" {
		return nil, nil
	}
	err = json.Unmarshal([]byte(text), &f)
	return f, err
}
