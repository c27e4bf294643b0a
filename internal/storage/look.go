package storage

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"chequer/internal/look"
	"chequer/internal/merchant"
)

// keptLooks is the number of themes that are kept per merchant: the current theme, and older themes to
// which open pages may still refer.
const keptLooks = 8

// SetLook implements merchant.LookStorage.
func (s *Storage) SetLook(ctx context.Context, merchantID string, l look.Look, at time.Time) error {
	return s.write(ctx, func(ctx context.Context, q querier) error {
		var id string
		err := q.QueryRowContext(ctx, "SELECT id FROM merchants WHERE id = $1"+s.dialect.forUpdate, merchantID).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return merchant.ErrNotFound
		}
		if err != nil {
			return fmt.Errorf("lock merchant: %w", err)
		}
		_, err = q.ExecContext(ctx, `
			INSERT INTO looks (merchant_id, number, hash, name, accent, line, support, terms, stay, logo_type, logo, created_at)
			VALUES ($1, (SELECT COALESCE(MAX(number), 0) + 1 FROM looks WHERE merchant_id = $1), $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
			merchantID, l.Hash(), l.Name, l.Accent, l.Line, l.Support, l.Terms, l.Stay, l.Logo.Type,
			base64.StdEncoding.EncodeToString(l.Logo.Body), at.UnixMilli())
		if err != nil {
			return fmt.Errorf("write theme: %w", err)
		}
		_, err = q.ExecContext(ctx, `
			DELETE FROM looks WHERE merchant_id = $1 AND number <= (SELECT MAX(number) FROM looks WHERE merchant_id = $1) - $2`,
			merchantID, keptLooks)
		if err != nil {
			return fmt.Errorf("delete old themes: %w", err)
		}
		return nil
	})
}

// Look implements merchant.LookStorage.
func (s *Storage) Look(ctx context.Context, merchantID string) (look.Look, error) {
	l, err := answer(ctx, s.read, func(ctx context.Context, q querier) (look.Look, error) {
		return readLook(q.QueryRowContext(ctx, `
			SELECT name, accent, line, support, terms, stay, logo_type, logo FROM looks
			WHERE merchant_id = $1 ORDER BY number DESC LIMIT 1`, merchantID))
	})
	return l, merchantNotFound(err, "read theme")
}

// LookByHash implements merchant.LookStorage.
func (s *Storage) LookByHash(ctx context.Context, hash string) (look.Look, error) {
	l, err := answer(ctx, s.read, func(ctx context.Context, q querier) (look.Look, error) {
		return readLook(q.QueryRowContext(ctx, `
			SELECT name, accent, line, support, terms, stay, logo_type, logo FROM looks WHERE hash = $1 LIMIT 1`, hash))
	})
	return l, merchantNotFound(err, "read theme")
}

func readLook(row scanner) (l look.Look, err error) {
	var logo string
	if err := row.Scan(&l.Name, &l.Accent, &l.Line, &l.Support, &l.Terms, &l.Stay, &l.Logo.Type, &logo); err != nil {
		return look.Look{}, err
	}
	if logo != "" {
		l.Logo.Body, err = base64.StdEncoding.DecodeString(logo)
	}
	return l, err
}
