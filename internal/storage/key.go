package storage

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"chequer/internal/audit"
	"chequer/internal/merchant"
	"chequer/internal/seal"
)

// keyRow is an API key as stored in columns.
type keyRow struct {
	id, merchantID, key string
	secret              string // sealed; "" for a plug-in
	mode, scopes        string
	label               string
	plugin, tokenHash   string
	createdAt           int64
	usedAt, revokedAt   sql.Null[int64]
	mac                 string
}

// sealKey returns the row of a key.
func sealKey(box *seal.Box, k merchant.Key) keyRow {
	r := keyRow{
		id: k.ID, merchantID: k.MerchantID, key: k.Key, plugin: k.Plugin, tokenHash: k.TokenHash,
		mode: string(k.Mode), scopes: listText(k.Scopes), label: k.Label,
		createdAt: k.CreatedAt.UnixMilli(), usedAt: millis(k.UsedAt), revokedAt: millis(k.RevokedAt),
	}
	if !k.IsPlugin() {
		r.secret = box.Seal(keySecretPurpose(k.ID), []byte(k.Secret))
	}
	r.mac = box.MAC("api_keys", r.fields()...)
	return r
}

// unseal verifies the row and decrypts its secret. It returns merchant.ErrTampered if the MAC is wrong.
func (r keyRow) unseal(box *seal.Box) (merchant.Key, error) {
	if !box.Check(r.mac, "api_keys", r.fields()...) {
		return merchant.Key{}, fmt.Errorf("API key %s: %w", r.id, merchant.ErrTampered)
	}
	var secret []byte
	if r.plugin == "" {
		var err error
		if secret, err = box.Open(keySecretPurpose(r.id), r.secret); err != nil {
			return merchant.Key{}, fmt.Errorf("API key %s: %w", r.id, err)
		}
	}
	scopes, err := parseList[merchant.Scope](r.scopes)
	if err != nil {
		return merchant.Key{}, fmt.Errorf("API key %s: scopes: %w", r.id, err)
	}
	return merchant.Key{
		ID: r.id, MerchantID: r.merchantID, Key: r.key, Secret: string(secret), Plugin: r.plugin, TokenHash: r.tokenHash, Mode: merchant.Mode(r.mode),
		Scopes: scopes, Label: r.label, CreatedAt: utc(r.createdAt), UsedAt: fromMillis(r.usedAt), RevokedAt: fromMillis(r.revokedAt),
	}, nil
}

// fields returns the fields that the row's MAC covers: those that give rights.
func (r keyRow) fields() []string {
	fields := []string{r.id, r.merchantID, r.key, r.secret, r.mode, r.scopes, strconv.FormatInt(r.createdAt, 10), nullText(r.revokedAt)}
	if r.plugin == "" && r.tokenHash == "" { // as in rows of schema versions below 49
		return fields
	}
	return append(fields, r.plugin, r.tokenHash)
}

// CreateKey implements merchant.Storage.
func (s *Storage) CreateKey(ctx context.Context, k merchant.Key) error {
	r := sealKey(s.box, k)
	c := audit.Change{MerchantID: k.MerchantID, Action: "key.created", Subject: k.Key, After: keyFields(k)}
	return s.changeRecorded(ctx, c, "write API key", merchant.ErrExists, `
		INSERT INTO api_keys (id, merchant_id, key, secret, mode, scopes, label, created_at, used_at, revoked_at, plugin, token_hash, mac)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT DO NOTHING`,
		r.id, r.merchantID, r.key, r.secret, r.mode, r.scopes, r.label, r.createdAt, r.usedAt, r.revokedAt, r.plugin, r.tokenHash, r.mac)
}

// Key implements merchant.Storage.
func (s *Storage) Key(ctx context.Context, key string) (merchant.Key, error) {
	r, err := readOne(ctx, s, readKeyRow, `
		SELECT id, merchant_id, key, secret, mode, scopes, label, created_at, used_at, revoked_at, plugin, token_hash, mac
		FROM api_keys WHERE key = $1`, key)
	if err != nil {
		return merchant.Key{}, merchantNotFound(err, "read API key")
	}
	return r.unseal(s.box)
}

// Keys implements merchant.Storage. If one row was tampered with, it returns an error that names
// the row.
func (s *Storage) Keys(ctx context.Context, merchantID string) ([]merchant.Key, error) {
	rows, err := readAll(ctx, s, "read API keys", readKeyRow, `
		SELECT id, merchant_id, key, secret, mode, scopes, label, created_at, used_at, revoked_at, plugin, token_hash, mac
		FROM api_keys WHERE merchant_id = $1 ORDER BY created_at, id`, merchantID)
	if err != nil {
		return nil, err
	}
	return unsealAll(s.box, rows)
}

// UseKey implements merchant.Storage.
func (s *Storage) UseKey(ctx context.Context, id string, at time.Time) error {
	return s.change(ctx, "write use of API key", nil, "UPDATE api_keys SET used_at = $2 WHERE id = $1 AND (used_at IS NULL OR used_at < $2)", id, at.UnixMilli())
}

// RevokeKey implements merchant.Storage. A key that is revoked already keeps its time of revocation.
func (s *Storage) RevokeKey(ctx context.Context, merchantID, key string, at time.Time) error {
	return s.write(ctx, func(ctx context.Context, q querier) error {
		r, err := readKeyRow(q.QueryRowContext(ctx, `
			SELECT id, merchant_id, key, secret, mode, scopes, label, created_at, used_at, revoked_at, plugin, token_hash, mac
			FROM api_keys WHERE key = $1 AND merchant_id = $2`+s.engine.ForUpdate, key, merchantID))
		if err != nil {
			return merchantNotFound(err, "read API key")
		}
		k, err := r.unseal(s.box)
		if err != nil || !k.RevokedAt.IsZero() {
			return err
		}
		r.revokedAt = millis(at)
		_, err = q.ExecContext(ctx, "UPDATE api_keys SET revoked_at = $2, mac = $3 WHERE id = $1",
			r.id, r.revokedAt, s.box.MAC("api_keys", r.fields()...))
		if err != nil {
			return fmt.Errorf("revoke API key: %w", err)
		}
		return s.record(ctx, q, audit.Change{MerchantID: k.MerchantID, Action: "key.revoked", Subject: k.Key, Before: keyFields(k)})
	})
}

func readKeyRow(row scanner) (r keyRow, err error) {
	err = row.Scan(&r.id, &r.merchantID, &r.key, &r.secret, &r.mode, &r.scopes, &r.label, &r.createdAt, &r.usedAt, &r.revokedAt, &r.plugin, &r.tokenHash, &r.mac)
	return r, err
}

// keySecretPurpose returns the purpose for which a key's secret is sealed.
func keySecretPurpose(id string) string { return "api_keys secret " + id }

// nullText returns a column as a field of a MAC, "" if it is NULL.
func nullText(ms sql.Null[int64]) string {
	if !ms.Valid {
		return ""
	}
	return strconv.FormatInt(ms.V, 10)
}
