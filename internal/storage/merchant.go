package storage

import (
	"context"
	"fmt"

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
	return s.updateMerchant(ctx, id, "rename merchant", "UPDATE merchants SET name = $2 WHERE id = $1", name, func(m *merchant.Merchant) { m.Name = name })
}

// SetMethods implements merchant.Storage.
func (s *Storage) SetMethods(ctx context.Context, id string, m merchant.Methods) error {
	return s.updateMerchant(ctx, id, "write payment methods of merchant", "UPDATE merchants SET methods = $2 WHERE id = $1", string(m), func(shop *merchant.Merchant) { shop.Methods = m })
}

// updateMerchant runs a statement that changes one column of a merchant, as set changes it in memory.
func (s *Storage) updateMerchant(ctx context.Context, id, operation, query, value string, set func(*merchant.Merchant)) error {
	return s.write(ctx, func(ctx context.Context, q querier) error {
		m, err := readMerchant(q.QueryRowContext(ctx, "SELECT id, name, methods, created_at FROM merchants WHERE id = $1"+s.engine.ForUpdate, id))
		if err != nil {
			return merchantNotFound(err, operation+" "+id)
		}
		before := fields("name", m.Name, "methods", string(m.Methods))
		set(&m)
		if _, err := q.ExecContext(ctx, query, id, value); err != nil {
			return fmt.Errorf("%s %s: %w", operation, id, err)
		}
		return s.record(ctx, q, audit.Change{MerchantID: id, Action: "shop.changed", Subject: id}.Diff(before, fields("name", m.Name, "methods", string(m.Methods))))
	})
}

// Merchants implements merchant.Storage.
func (s *Storage) Merchants(ctx context.Context) ([]merchant.Merchant, error) {
	return readAll(ctx, s, "read merchants", readMerchant, "SELECT id, name, methods, created_at FROM merchants ORDER BY created_at, id")
}

// Merchant implements merchant.Storage.
func (s *Storage) Merchant(ctx context.Context, id string) (merchant.Merchant, error) {
	m, err := readOne(ctx, s, readMerchant, "SELECT id, name, methods, created_at FROM merchants WHERE id = $1", id)
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
	err = row.Scan(&m.ID, &m.Name, &m.Methods, &created)
	m.CreatedAt = utc(created)
	return m, err
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
