package storage

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"chequer/internal/audit"
	"chequer/internal/merchant"
	"chequer/internal/storage/engine"
)

// CreateMerchant implements merchant.Storage.
func (s *Storage) CreateMerchant(ctx context.Context, m merchant.Merchant) error {
	c := audit.Change{MerchantID: m.ID, Action: "shop.created", Subject: m.ID, After: fields("name", m.Name)}
	return s.changeRecorded(ctx, c, "write merchant "+m.ID, merchant.ErrExists, "INSERT INTO merchants (id, name, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
		m.ID, m.Name, m.CreatedAt.UnixMilli())
}

// RenameMerchant implements merchant.Storage.
func (s *Storage) RenameMerchant(ctx context.Context, id, name string) error {
	_, err := s.updateMerchant(ctx, id, "rename merchant", func(m *merchant.Merchant) error {
		m.Name = name
		return nil
	})
	return err
}

// ChangeChoices implements merchant.SettingsStorage.
func (s *Storage) ChangeChoices(ctx context.Context, id string, change func(merchant.Choices) (merchant.Choices, error)) (merchant.Choices, error) {
	m, err := s.updateMerchant(ctx, id, "write payment settings of merchant", func(m *merchant.Merchant) (err error) {
		m.Choices, err = change(m.Choices)
		return err
	})
	return m.Choices, err
}

// updateMerchant locks a merchant, calls change, and writes the result if it differs.
func (s *Storage) updateMerchant(ctx context.Context, id, operation string, change func(*merchant.Merchant) error) (m merchant.Merchant, err error) {
	err = s.write(ctx, func(ctx context.Context, q querier) error {
		m, err = readMerchant(q.QueryRowContext(ctx, "SELECT id, name, settings, created_at FROM merchants WHERE id = $1"+s.engine.ForUpdate, id))
		if err != nil {
			return merchantNotFound(err, operation+" "+id)
		}
		before := shopFields(m)
		if err := change(&m); err != nil {
			return err
		}
		after := shopFields(m)
		if maps.Equal(before, after) {
			return nil
		}
		if _, err := q.ExecContext(ctx, "UPDATE merchants SET name = $2, settings = $3 WHERE id = $1", id, m.Name, choicesText(m.Choices)); err != nil {
			return fmt.Errorf("%s %s: %w", operation, id, err)
		}
		return s.record(ctx, q, audit.Change{MerchantID: id, Action: "shop.changed", Subject: id}.Diff(before, after))
	})
	return m, err
}

// choicesText returns the text of choices for their column.
func choicesText(c merchant.Choices) string {
	if c == nil {
		c = merchant.Choices{}
	}
	return jsonText(c)
}

// Merchants implements merchant.Storage.
func (s *Storage) Merchants(ctx context.Context) ([]merchant.Merchant, error) {
	return readAll(ctx, s, "read merchants", readMerchant, "SELECT id, name, settings, created_at FROM merchants ORDER BY created_at, id")
}

// Merchant implements merchant.Storage.
func (s *Storage) Merchant(ctx context.Context, id string) (merchant.Merchant, error) {
	m, err := readOne(ctx, s, readMerchant, "SELECT id, name, settings, created_at FROM merchants WHERE id = $1", id)
	return m, merchantNotFound(err, "read merchant")
}

// lockMerchant locks a merchant, so that no other transaction changes its endpoints, wallets or
// exchange account. It returns ErrNotFound if there is no such merchant.
func (s *Storage) lockMerchant(ctx context.Context, q querier, id string) error {
	err := q.QueryRowContext(ctx, "SELECT id FROM merchants WHERE id = $1"+s.engine.ForUpdate, id).Scan(&id)
	return merchantNotFound(err, "lock merchant")
}

func readMerchant(row scanner) (m merchant.Merchant, err error) {
	var created int64
	var settings string
	if err := row.Scan(&m.ID, &m.Name, &settings, &created); err != nil {
		return m, err
	}
	m.CreatedAt = utc(created)
	if err := json.Unmarshal([]byte(settings), &m.Choices); err != nil {
		return m, fmt.Errorf("payment settings of merchant %s: %w", m.ID, err)
	}
	return m, nil
}

// merchantNotFound returns merchant.ErrNotFound if err means that there is no row. It adds the failed
// operation to other errors.
func merchantNotFound(err error, operation string) error {
	switch {
	case err == nil:
		return nil
	case engine.Absent(err):
		return merchant.ErrNotFound
	}
	return fmt.Errorf("%s: %w", operation, err)
}
