package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"chequer/internal/account"
	"chequer/internal/audit"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/notify"
	"chequer/internal/seal"
	"chequer/internal/storage/engine"
)

// settingsPurpose returns the purpose that seals the settings of an account.
func settingsPurpose(accountID string) string { return "notification_settings " + accountID }

// openSettings decrypts the settings of an account.
func openSettings(box *seal.Box, accountID, sealed string) (set notify.Settings, err error) {
	text, err := box.Open(settingsPurpose(accountID), sealed)
	if err == nil {
		err = json.Unmarshal(text, &set)
	}
	if err != nil {
		return set, fmt.Errorf("notification settings of %s: %w", accountID, err)
	}
	return set, nil
}

// NotificationSettings implements notify.SettingsStorage.
func (s *Storage) NotificationSettings(ctx context.Context, accountID string) (notify.Settings, error) {
	sealed, err := readOne(ctx, s, column[string], "SELECT settings FROM notification_settings WHERE account_id = $1", accountID)
	var set notify.Settings
	switch {
	case engine.Absent(err):
	case err != nil:
		return notify.Settings{}, fmt.Errorf("read notification settings: %w", err)
	default:
		if set, err = openSettings(s.box, accountID, sealed); err != nil {
			return set, err
		}
	}
	if set.Zone != "" {
		return set, nil
	}
	a, err := s.Account(ctx, accountID)
	if errors.Is(err, account.ErrNotFound) {
		return set, nil
	}
	if err == nil {
		set.ShopZone, err = s.zoneOfAccount(ctx, a)
	}
	return set, err
}

// zoneOfAccount returns the name of the time zone of the books of an account's first shop; "" if that is UTC.
func (s *Storage) zoneOfAccount(ctx context.Context, a account.Account) (string, error) {
	shops := a.Shops()
	if len(shops) == 0 {
		return "", nil
	}
	m, err := s.Merchant(ctx, shops[0])
	if err != nil && !errors.Is(err, merchant.ErrNotFound) {
		return "", err
	}
	return m.Choices[merchant.SettingTimeZone], nil
}

// UpdateNotificationSettings implements notify.SettingsStorage.
func (s *Storage) UpdateNotificationSettings(ctx context.Context, accountID string, change func(*notify.Settings) (notify.Update, error)) error {
	return s.write(ctx, func(ctx context.Context, q querier) error {
		set, err := s.lockSettings(ctx, q, accountID)
		if err != nil {
			return err
		}
		u, err := change(&set)
		if err != nil {
			return err
		}
		if err := s.addRequest(ctx, q, u.Request); err != nil {
			return err
		}
		sealed := s.box.Seal(settingsPurpose(accountID), []byte(jsonText(set)))
		if _, err := q.ExecContext(ctx, "UPDATE notification_settings SET settings = $2 WHERE account_id = $1", accountID, sealed); err != nil {
			return fmt.Errorf("write notification settings: %w", err)
		}
		return s.record(ctx, q, u.Change)
	})
}

// lockSettings locks the settings of an account. It creates them if they do not exist.
func (s *Storage) lockSettings(ctx context.Context, q querier, accountID string) (set notify.Settings, err error) {
	sealed := s.box.Seal(settingsPurpose(accountID), []byte(jsonText(set)))
	_, err = q.ExecContext(ctx, `
		INSERT INTO notification_settings (account_id, settings, summarised) VALUES ($1, $2, 0) ON CONFLICT (account_id) DO NOTHING`, accountID, sealed)
	if err != nil {
		return set, fmt.Errorf("create notification settings: %w", err)
	}
	err = q.QueryRowContext(ctx, "SELECT settings FROM notification_settings WHERE account_id = $1"+s.engine.ForUpdate, accountID).Scan(&sealed)
	if err != nil {
		return set, fmt.Errorf("lock notification settings: %w", err)
	}
	return openSettings(s.box, accountID, sealed)
}

// NotificationChoices implements notify.SettingsStorage.
func (s *Storage) NotificationChoices(ctx context.Context, accountID, merchantID string) ([]notify.Choice, error) {
	return readAll(ctx, s, "read notification choices", readChoice, `
		SELECT kind, channel FROM notification_choices WHERE merchant_id = $1 AND account_id = $2 ORDER BY kind, channel`, merchantID, accountID)
}

func readChoice(row scanner) (c notify.Choice, err error) {
	err = row.Scan(&c.Kind, &c.Channel)
	return c, err
}

// SaveNotificationChoices implements notify.SettingsStorage. It locks the settings first, which serializes
// the changes of an account.
func (s *Storage) SaveNotificationChoices(ctx context.Context, accountID, merchantID string, choices []notify.Choice, today int64, c audit.Change) error {
	return s.write(ctx, func(ctx context.Context, q querier) error {
		if _, err := s.lockSettings(ctx, q, accountID); err != nil {
			return err
		}
		if err := startCursor(ctx, q, merchantID); err != nil {
			return err
		}
		if err := startSummaries(ctx, q, accountID, choices, today); err != nil {
			return err
		}
		if _, err := q.ExecContext(ctx, "DELETE FROM notification_choices WHERE merchant_id = $1 AND account_id = $2", merchantID, accountID); err != nil {
			return fmt.Errorf("delete notification choices: %w", err)
		}
		for _, choice := range choices {
			_, err := q.ExecContext(ctx, "INSERT INTO notification_choices (merchant_id, account_id, kind, channel) VALUES ($1, $2, $3, $4)",
				merchantID, accountID, string(choice.Kind), string(choice.Channel))
			if err != nil {
				return fmt.Errorf("write notification choice: %w", err)
			}
		}
		return s.record(ctx, q, c)
	})
}

// startCursor moves the cursor of a shop without choices to the end of its feed.
func startCursor(ctx context.Context, q querier, merchantID string) error {
	_, err := q.ExecContext(ctx, `
		INSERT INTO notification_cursors (merchant_id, position)
		SELECT $1, COALESCE((SELECT position FROM feeds WHERE merchant_id = $1), 0)
		WHERE NOT EXISTS (SELECT 1 FROM notification_choices WHERE merchant_id = $1)
		ON CONFLICT (merchant_id) DO UPDATE SET position = excluded.position`, merchantID)
	if err != nil {
		return fmt.Errorf("start notifications: %w", err)
	}
	return nil
}

// startSummaries makes tomorrow the day of the first summary of an account that had none.
func startSummaries(ctx context.Context, q querier, accountID string, choices []notify.Choice, today int64) error {
	if !slices.ContainsFunc(choices, func(c notify.Choice) bool { return c.Kind == notify.Summary }) {
		return nil
	}
	_, err := q.ExecContext(ctx, `
		UPDATE notification_settings SET summarised = $2 WHERE account_id = $1 AND summarised < $2
			AND NOT EXISTS (SELECT 1 FROM notification_choices WHERE account_id = $1 AND kind = $3)`, accountID, today, string(notify.Summary))
	if err != nil {
		return fmt.Errorf("start summaries: %w", err)
	}
	return nil
}

// NotificationFeeds implements notify.CollectorStorage.
func (s *Storage) NotificationFeeds(ctx context.Context) ([]notify.Feed, error) {
	return readAll(ctx, s, "read feeds to notify", func(row scanner) (f notify.Feed, err error) {
		err = row.Scan(&f.MerchantID, &f.Cursor, &f.End)
		return f, err
	}, `
		SELECT c.merchant_id, c.position, f.position FROM notification_cursors c JOIN feeds f ON f.merchant_id = c.merchant_id
		WHERE f.position > c.position AND EXISTS (SELECT 1 FROM notification_choices n WHERE n.merchant_id = c.merchant_id)
		ORDER BY c.merchant_id`)
}

// FeedEvents implements notify.CollectorStorage.
func (s *Storage) FeedEvents(ctx context.Context, merchantID string, after int64, limit int) ([]notify.FeedEvent, error) {
	return readAll(ctx, s, "read events to notify", func(row scanner) (e notify.FeedEvent, err error) {
		err = row.Scan(&e.Position, &e.Type, &e.Mode, &e.InvoiceID)
		return e, err
	}, feedEvents, merchantID, after, limit)
}

// feedEvents is the statement of FeedEvents.
const feedEvents = `
	SELECT position, type, mode, COALESCE(invoice_id, '') FROM events
	WHERE merchant_id = $1 AND position > $2 ORDER BY position LIMIT $3`

// Subscribers implements notify.CollectorStorage.
func (s *Storage) Subscribers(ctx context.Context, merchantID string) ([]notify.Subscriber, error) {
	type chosen struct {
		accountID, merchantID string
		notify.Choice
	}
	var where string
	var args []any
	if merchantID != "" {
		where, args = " WHERE merchant_id = $1", []any{merchantID}
	}
	rows, err := readAll(ctx, s, "read notification choices", func(row scanner) (c chosen, err error) {
		err = row.Scan(&c.accountID, &c.merchantID, &c.Kind, &c.Channel)
		return c, err
	}, "SELECT account_id, merchant_id, kind, channel FROM notification_choices"+where, args...)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	choices := map[string]map[string][]notify.Choice{}
	for _, r := range rows {
		if choices[r.accountID] == nil {
			choices[r.accountID] = map[string][]notify.Choice{}
		}
		choices[r.accountID][r.merchantID] = append(choices[r.accountID][r.merchantID], r.Choice)
	}
	return s.subscribers(ctx, choices)
}

// subscribers adds the accounts and their settings to choices. If the settings of some accounts cannot be read, it returns
// the others with an error.
func (s *Storage) subscribers(ctx context.Context, choices map[string]map[string][]notify.Choice) (all []notify.Subscriber, err error) {
	var unreadable []error
	accounts, err := s.Accounts(ctx)
	if err != nil {
		return nil, err
	}
	for _, a := range accounts {
		if choices[a.ID] == nil {
			continue
		}
		subscriber := notify.Subscriber{Account: a, Choices: choices[a.ID]}
		var sealed string
		_, err := readOne(ctx, s, func(row scanner) (struct{}, error) {
			return struct{}{}, row.Scan(&sealed, &subscriber.Summarised)
		}, "SELECT settings, summarised FROM notification_settings WHERE account_id = $1", a.ID)
		if err != nil {
			return nil, fmt.Errorf("read notification settings: %w", err)
		}
		if subscriber.Settings, err = openSettings(s.box, a.ID, sealed); err != nil {
			unreadable = append(unreadable, err)
			continue
		}
		if subscriber.Settings.Zone == "" {
			if subscriber.Settings.ShopZone, err = s.zoneOfAccount(ctx, a); err != nil {
				return nil, err
			}
		}
		all = append(all, subscriber)
	}
	return all, errors.Join(unreadable...)
}

// AdvanceNotifications implements notify.CollectorStorage.
func (s *Storage) AdvanceNotifications(ctx context.Context, f notify.Feed, to int64, notices []notify.Notice, now time.Time) (bool, error) {
	advanced, err := answer(ctx, s.write, func(ctx context.Context, q querier) (bool, error) {
		moved, err := exec(ctx, q, "UPDATE notification_cursors SET position = $3 WHERE merchant_id = $1 AND position = $2", f.MerchantID, f.Cursor, to)
		if err != nil || moved == 0 {
			return false, err
		}
		var entries []notify.Entry
		for _, n := range notices {
			isNew, err := recordCase(ctx, q, n, now)
			if err != nil {
				return false, err
			}
			if isNew {
				entries = append(entries, n.Entries...)
			}
		}
		return true, s.addEntries(ctx, q, entries, now)
	})
	if err != nil {
		return false, fmt.Errorf("write notifications of %s: %w", f.MerchantID, err)
	}
	return advanced, nil
}

// recordCase records the state of the case of a notice, and reports whether the state is new. A notice without a
// case is always new.
func recordCase(ctx context.Context, q querier, n notify.Notice, now time.Time) (isNew bool, err error) {
	if n.Case == "" {
		return true, nil
	}
	changed, err := exec(ctx, q, `
		INSERT INTO notified_cases (invoice_id, state, notified_at) VALUES ($1, $2, $3)
		ON CONFLICT (invoice_id) DO UPDATE SET state = excluded.state, notified_at = excluded.notified_at
		WHERE notified_cases.state <> excluded.state`, n.InvoiceID, n.Case, now.UnixMilli())
	if err != nil {
		return false, fmt.Errorf("record case: %w", err)
	}
	return changed > 0, nil
}

// RecordFaults implements notify.CollectorStorage.
func (s *Storage) RecordFaults(ctx context.Context, present []notify.Fault, now, maxSince, reportedBefore time.Time, report func([]notify.Fault) []notify.Entry) error {
	err := s.write(ctx, func(ctx context.Context, q querier) error {
		if err := markPresent(ctx, q, present, now, reportedBefore); err != nil {
			return err
		}
		var unreported []notify.Fault
		for _, f := range present {
			changed, err := exec(ctx, q, `
				UPDATE notified_faults SET notified_at = $3
				WHERE merchant_id = $1 AND fault = $2 AND since <= $4 AND notified_at < since AND notified_at < $5`,
				f.MerchantID, f.Key, now.UnixMilli(), maxSince.UnixMilli(), reportedBefore.UnixMilli())
			if err != nil {
				return err
			}
			if changed > 0 {
				unreported = append(unreported, f)
			}
		}
		return s.addEntries(ctx, q, report(unreported), now)
	})
	if err != nil {
		return fmt.Errorf("write notifications of faults: %w", err)
	}
	return nil
}

// markPresent records which faults are present. It deletes the faults that have ended and were last reported before
// reportedBefore.
func markPresent(ctx context.Context, q querier, present []notify.Fault, now, reportedBefore time.Time) error {
	for _, f := range present {
		_, err := q.ExecContext(ctx, `
			INSERT INTO notified_faults (merchant_id, fault, since, present, notified_at) VALUES ($1, $2, $3, TRUE, 0)
			ON CONFLICT (merchant_id, fault) DO UPDATE SET
				since = CASE WHEN notified_faults.present THEN notified_faults.since ELSE excluded.since END, present = TRUE`,
			f.MerchantID, f.Key, now.UnixMilli())
		if err != nil {
			return err
		}
	}
	type key struct{ merchantID, fault string }
	known, err := list(ctx, q, func(row scanner) (k key, err error) {
		err = row.Scan(&k.merchantID, &k.fault)
		return k, err
	}, "SELECT merchant_id, fault FROM notified_faults")
	if err != nil {
		return err
	}
	for _, k := range known {
		if slices.ContainsFunc(present, func(f notify.Fault) bool { return f.MerchantID == k.merchantID && f.Key == k.fault }) {
			continue
		}
		for _, statement := range []string{
			"UPDATE notified_faults SET present = FALSE WHERE merchant_id = $1 AND fault = $2 AND notified_at >= $3",
			"DELETE FROM notified_faults WHERE merchant_id = $1 AND fault = $2 AND notified_at < $3",
		} {
			if _, err := q.ExecContext(ctx, statement, k.merchantID, k.fault, reportedBefore.UnixMilli()); err != nil {
				return err
			}
		}
	}
	return nil
}

// RecordSummary implements notify.CollectorStorage.
func (s *Storage) RecordSummary(ctx context.Context, accountID string, day int64, entries []notify.Entry, now time.Time) error {
	err := s.write(ctx, func(ctx context.Context, q querier) error {
		changed, err := exec(ctx, q, "UPDATE notification_settings SET summarised = $2 WHERE account_id = $1 AND summarised < $2", accountID, day)
		if err != nil || changed == 0 {
			return err
		}
		return s.addEntries(ctx, q, entries, now)
	})
	if err != nil {
		return fmt.Errorf("write summary of %s: %w", accountID, err)
	}
	return nil
}

// PaidBetween implements notify.CollectorStorage.
func (s *Storage) PaidBetween(ctx context.Context, merchantID string, from, to time.Time) ([]notify.PaidSum, error) {
	return readAll(ctx, s, "sum paid invoices", func(row scanner) (p notify.PaidSum, err error) {
		var fiat money.Currency
		var received int64
		err = row.Scan(&fiat.Code, &fiat.Decimals, &p.Invoices, &received)
		p.Received = money.FromCents(received, fiat)
		return p, err
	}, paidBetween, merchantID, string(invoice.Live), from.UnixMilli(), to.UnixMilli())
}

// paidBetween is the statement of PaidBetween. It reads the invoices of the period, once a day for each account.
const paidBetween = `
	SELECT currency, decimals, COUNT(*), CAST(SUM(paid) AS BIGINT) FROM invoices
	WHERE merchant_id = $1 AND mode = $2 AND paid_at >= $3 AND paid_at < $4
	GROUP BY currency, decimals ORDER BY currency, decimals`
