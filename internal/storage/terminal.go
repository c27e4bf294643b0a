package storage

import (
	"context"
	"fmt"

	"chequer/internal/audit"
	"chequer/internal/merchant"
)

// CreateTerminal implements merchant.TerminalStorage.
func (s *Storage) CreateTerminal(ctx context.Context, t merchant.Terminal, hash string) error {
	c := audit.Change{MerchantID: t.MerchantID, Action: "terminal.created", Subject: t.ID, After: terminalFields(t)}
	return s.changeRecorded(ctx, c, "write terminal", nil, `
		INSERT INTO terminals (secret_hash, id, merchant_id, mode, name, fiat_currency, methods, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		hash, t.ID, t.MerchantID, string(t.Mode), t.Name, t.Currency, string(t.Methods), t.CreatedAt.UnixMilli())
}

// Terminal implements merchant.TerminalStorage.
func (s *Storage) Terminal(ctx context.Context, hash string) (merchant.Terminal, error) {
	t, err := readOne(ctx, s, readTerminal, `
		SELECT id, merchant_id, mode, name, fiat_currency, methods, created_at FROM terminals WHERE secret_hash = $1
		UNION ALL
		SELECT t.id, t.merchant_id, t.mode, t.name, t.fiat_currency, t.methods, t.created_at
		FROM terminal_assignments a JOIN terminals t ON t.id = a.terminal_id AND t.merchant_id = a.merchant_id WHERE a.secret_hash = $1`, hash)
	return t, merchantNotFound(err, "read terminal")
}

// Terminals implements merchant.TerminalStorage.
func (s *Storage) Terminals(ctx context.Context, merchantID string) ([]merchant.Terminal, error) {
	return readAll(ctx, s, "read terminals", readTerminal, `
		SELECT id, merchant_id, mode, name, fiat_currency, methods, created_at
		FROM terminals WHERE merchant_id = $1 ORDER BY created_at, id`, merchantID)
}

// RemoveTerminal implements merchant.TerminalStorage.
func (s *Storage) RemoveTerminal(ctx context.Context, merchantID, id string) error {
	return s.write(ctx, func(ctx context.Context, q querier) error {
		if err := s.lockTerminal(ctx, q, merchantID, id); err != nil {
			return err
		}
		for _, statement := range []string{"DELETE FROM terminal_assignments WHERE terminal_id = $1", "DELETE FROM terminals WHERE id = $1"} {
			if _, err := q.ExecContext(ctx, statement, id); err != nil {
				return fmt.Errorf("remove terminal: %w", err)
			}
		}
		return s.record(ctx, q, audit.Change{MerchantID: merchantID, Action: "terminal.removed", Subject: id})
	})
}

func readTerminal(row scanner) (t merchant.Terminal, err error) {
	var created int64
	err = row.Scan(&t.ID, &t.MerchantID, &t.Mode, &t.Name, &t.Currency, &t.Methods, &created)
	t.CreatedAt = utc(created)
	return t, err
}
