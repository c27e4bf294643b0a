package storage

import (
	"context"
	"fmt"

	"chequer/internal/merchant"
	"chequer/internal/storage/engine"
)

// CreateMerchant implements merchant.Storage.
func (s *Storage) CreateMerchant(ctx context.Context, m merchant.Merchant) error {
	return s.write(ctx, func(ctx context.Context, q querier) error {
		inserted, err := exec(ctx, q, "INSERT INTO merchants (id, name, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
			m.ID, m.Name, m.CreatedAt.UnixMilli())
		if err != nil {
			return fmt.Errorf("write merchant %s: %w", m.ID, err)
		}
		if inserted == 0 {
			return merchant.ErrExists
		}
		return nil
	})
}

// RenameMerchant implements merchant.Storage.
func (s *Storage) RenameMerchant(ctx context.Context, id, name string) error {
	return s.write(ctx, func(ctx context.Context, q querier) error {
		renamed, err := exec(ctx, q, "UPDATE merchants SET name = $2 WHERE id = $1", id, name)
		if err != nil {
			return fmt.Errorf("rename merchant %s: %w", id, err)
		}
		if renamed == 0 {
			return merchant.ErrNotFound
		}
		return nil
	})
}

// SetMethods implements merchant.Storage.
func (s *Storage) SetMethods(ctx context.Context, id string, m merchant.Methods) error {
	return s.write(ctx, func(ctx context.Context, q querier) error {
		changed, err := exec(ctx, q, "UPDATE merchants SET methods = $2 WHERE id = $1", id, string(m))
		switch {
		case err != nil:
			return fmt.Errorf("write payment methods of merchant %s: %w", id, err)
		case changed == 0:
			return merchant.ErrNotFound
		}
		return nil
	})
}

// Merchants implements merchant.Storage.
func (s *Storage) Merchants(ctx context.Context) ([]merchant.Merchant, error) {
	all, err := answer(ctx, s.read, func(ctx context.Context, q querier) ([]merchant.Merchant, error) {
		return list(ctx, q, readMerchant, "SELECT id, name, methods, created_at FROM merchants ORDER BY created_at, id")
	})
	if err != nil {
		return nil, fmt.Errorf("read merchants: %w", err)
	}
	return all, nil
}

// Merchant implements merchant.Storage.
func (s *Storage) Merchant(ctx context.Context, id string) (merchant.Merchant, error) {
	m, err := answer(ctx, s.read, func(ctx context.Context, q querier) (merchant.Merchant, error) {
		return readMerchant(q.QueryRowContext(ctx, "SELECT id, name, methods, created_at FROM merchants WHERE id = $1", id))
	})
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
