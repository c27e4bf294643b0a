package storage

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"

	"chequer/internal/audit"
	"chequer/internal/merchant"
	"chequer/internal/storage/engine"
	"chequer/internal/theme"
)

// keptThemes is the number of themes that are kept per merchant: the current theme, and older themes to
// which open pages may still refer.
const keptThemes = 8

// SetTheme implements merchant.ThemeStorage.
func (s *Storage) SetTheme(ctx context.Context, merchantID, replaces string, t theme.Theme, at time.Time) error {
	return s.write(ctx, func(ctx context.Context, q querier) error {
		if err := s.lockMerchant(ctx, q, merchantID); err != nil {
			return err
		}
		before, err := readTheme(q.QueryRowContext(ctx, selectTheme, merchantID))
		if err != nil && !engine.Absent(err) {
			return fmt.Errorf("read theme: %w", err)
		}
		if before.Hash() != replaces {
			return merchant.ErrStale
		}
		_, err = q.ExecContext(ctx, `
			INSERT INTO looks (merchant_id, number, hash, name, accent, line, support, terms, stay, logo_type, logo, created_at)
			VALUES ($1, (SELECT COALESCE(MAX(number), 0) + 1 FROM looks WHERE merchant_id = $1), $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
			merchantID, t.Hash(), t.Name, t.Accent, t.Line, t.Support, t.Terms, t.Stay, t.Logo.Type,
			base64.StdEncoding.EncodeToString(t.Logo.Body), at.UnixMilli())
		if err != nil {
			return fmt.Errorf("write theme: %w", err)
		}
		_, err = q.ExecContext(ctx, `
			DELETE FROM looks WHERE merchant_id = $1 AND number <= (SELECT MAX(number) FROM looks WHERE merchant_id = $1) - $2`,
			merchantID, keptThemes)
		if err != nil {
			return fmt.Errorf("delete old themes: %w", err)
		}
		return s.record(ctx, q, audit.Change{MerchantID: merchantID, Action: "theme.changed", Subject: merchantID}.Diff(themeFields(before), themeFields(t)))
	})
}

// selectTheme reads the current theme of a merchant.
const selectTheme = `
	SELECT name, accent, line, support, terms, stay, logo_type, logo FROM looks
	WHERE merchant_id = $1 ORDER BY number DESC LIMIT 1`

// Theme implements merchant.ThemeStorage.
func (s *Storage) Theme(ctx context.Context, merchantID string) (theme.Theme, error) {
	t, err := readOne(ctx, s, readTheme, selectTheme, merchantID)
	return t, merchantNotFound(err, "read theme")
}

// ThemeByHash implements merchant.ThemeStorage.
func (s *Storage) ThemeByHash(ctx context.Context, merchantID, hash string) (theme.Theme, error) {
	query, args := "SELECT name, accent, line, support, terms, stay, logo_type, logo FROM looks WHERE hash = $1", []any{hash}
	if merchantID != "" {
		query, args = query+" AND merchant_id = $2", append(args, merchantID)
	}
	t, err := readOne(ctx, s, readTheme, query+" LIMIT 1", args...)
	return t, merchantNotFound(err, "read theme")
}

func readTheme(row scanner) (t theme.Theme, err error) {
	var logo string
	if err := row.Scan(&t.Name, &t.Accent, &t.Line, &t.Support, &t.Terms, &t.Stay, &t.Logo.Type, &logo); err != nil {
		return theme.Theme{}, err
	}
	if logo != "" {
		t.Logo.Body, err = base64.StdEncoding.DecodeString(logo)
	}
	return t, err
}
