package storage

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"chequer/internal/account"
	"chequer/internal/audit"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/storage/engine"
)

// CreateShop implements merchant.ShopStorage.
func (s *Storage) CreateShop(ctx context.Context, n merchant.NewShop) error {
	c := audit.Change{MerchantID: n.ID, Action: "shop.created", Subject: n.ID, After: fields("name", n.Name)}
	return s.write(ctx, func(ctx context.Context, q querier) error {
		if n.OwnerID != "" {
			owner, err := s.makeOwner(ctx, q, n.OwnerID, n.ID)
			if err != nil {
				return err
			}
			c.After = fields("name", n.Name, "owner", owner)
		}
		shops, err := lockNames(ctx, q, n.ID, n.Name)
		if err != nil {
			return err
		}
		if shops >= merchant.MaxShops {
			return merchant.ErrTooMany
		}
		inserted, err := exec(ctx, q, "INSERT INTO merchants (id, name, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", n.ID, n.Name, n.CreatedAt.UnixMilli())
		if err != nil {
			return fmt.Errorf("write merchant %s: %w", n.ID, err)
		}
		if inserted == 0 {
			return merchant.ErrExists
		}
		for _, w := range n.Wallets {
			if err := s.insertWallet(ctx, q, w); err != nil {
				return err
			}
			if err := s.raiseNextIndex(ctx, q, w.Counter, keys.Kind(w.Asset).FirstIndex()); err != nil {
				return err
			}
		}
		return s.record(ctx, q, c)
	})
}

// makeOwner makes an account the owner of a new shop, and returns its name.
func (s *Storage) makeOwner(ctx context.Context, q querier, accountID, merchantID string) (name string, err error) {
	r, err := readDeskAccount(q.QueryRowContext(ctx, "SELECT "+deskAccountColumns+" FROM desk_accounts WHERE id = $1"+s.engine.ForUpdate, accountID))
	if err != nil {
		return "", merchantNotFound(err, "read owner")
	}
	a, err := r.unseal(s.box)
	if err != nil {
		return "", err
	}
	a.Roles[merchantID] = account.Owner
	return a.Name, s.saveDeskAccount(ctx, q, a)
}

// lockShops locks the names and the public keys of all merchants. Only the audit log is locked after it.
func lockShops(ctx context.Context, q querier) error {
	_, err := q.ExecContext(ctx, "INSERT INTO meta (name, value) VALUES ('shops', '') ON CONFLICT (name) DO UPDATE SET value = excluded.value")
	if err != nil {
		return fmt.Errorf("lock shops: %w", err)
	}
	return nil
}

// lockNames locks the names of all merchants, and returns the number of merchants. It returns
// merchant.ErrNameTaken if another merchant than the one with an ID has a name.
func lockNames(ctx context.Context, q querier, id, name string) (shops int, err error) {
	if err := lockShops(ctx, q); err != nil {
		return 0, err
	}
	all, err := list(ctx, q, readMerchant, "SELECT id, name, settings, created_at FROM merchants")
	if err != nil {
		return 0, fmt.Errorf("read merchants: %w", err)
	}
	for _, m := range all {
		if m.ID != id && merchant.NameKey(m.Name) == merchant.NameKey(name) {
			return 0, merchant.ErrNameTaken
		}
	}
	return len(all), nil
}

// RenameMerchant implements merchant.ShopStorage.
func (s *Storage) RenameMerchant(ctx context.Context, id, seen, name string) error {
	_, err := s.updateMerchant(ctx, id, "rename merchant", func(ctx context.Context, q querier, m *merchant.Merchant) error {
		if seen != "" && seen != m.Name {
			return merchant.ErrStale
		}
		m.Name = name
		_, err := lockNames(ctx, q, id, name)
		return err
	})
	return err
}

// ChangeChoices implements merchant.SettingsStorage.
func (s *Storage) ChangeChoices(ctx context.Context, id string, change func(merchant.Choices) (merchant.Choices, error)) (merchant.Choices, error) {
	m, err := s.updateMerchant(ctx, id, "write payment settings of merchant", func(_ context.Context, _ querier, m *merchant.Merchant) (err error) {
		m.Choices, err = change(m.Choices)
		return err
	})
	return m.Choices, err
}

// updateMerchant locks a merchant, calls change, and writes the result if it differs.
func (s *Storage) updateMerchant(ctx context.Context, id, operation string, change func(context.Context, querier, *merchant.Merchant) error) (m merchant.Merchant, err error) {
	isRestarted := false
	err = s.write(ctx, func(ctx context.Context, q querier) error {
		m, err = readMerchant(q.QueryRowContext(ctx, "SELECT id, name, settings, created_at FROM merchants WHERE id = $1"+s.engine.ForUpdate, id))
		if err != nil {
			return merchantNotFound(err, operation+" "+id)
		}
		before, zone := shopFields(m), m.Choices.Zone()
		if err := change(ctx, q, &m); err != nil {
			return err
		}
		after := shopFields(m)
		if maps.Equal(before, after) {
			return nil
		}
		if _, err := q.ExecContext(ctx, "UPDATE merchants SET name = $2, settings = $3 WHERE id = $1", id, m.Name, choicesText(m.Choices)); err != nil {
			return fmt.Errorf("%s %s: %w", operation, id, err)
		}
		if next := m.Choices.Zone(); next != zone {
			isRestarted = true
			if err := s.restartDaySums(ctx, q, id, next); err != nil {
				return err
			}
		}
		return s.record(ctx, q, audit.Change{MerchantID: id, Action: "shop.changed", Subject: id}.Diff(before, after))
	})
	if isRestarted {
		s.hintRestart()
	}
	return m, err
}

// choicesText returns the text of choices for their column.
func choicesText(c merchant.Choices) string {
	if c == nil {
		c = merchant.Choices{}
	}
	return jsonText(c)
}

// Merchants implements merchant.ShopStorage.
func (s *Storage) Merchants(ctx context.Context) ([]merchant.Merchant, error) {
	return readAll(ctx, s, "read merchants", readMerchant, "SELECT id, name, settings, created_at FROM merchants ORDER BY created_at, id")
}

// Merchant implements merchant.ShopStorage.
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
