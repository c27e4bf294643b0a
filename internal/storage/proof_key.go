package storage

import (
	"context"
	"crypto/ed25519"
	"database/sql"
	"fmt"
	"strconv"

	"chequer/internal/audit"
	"chequer/internal/proof"
	"chequer/internal/seal"
)

// proofKeyRow is a proof key as stored in columns.
type proofKeyRow struct {
	number    int64
	public    string
	secret    string // sealed seed, "" once retired
	createdAt int64
	retiredAt sql.Null[int64]
	mac       string
}

// fields returns the fields that the row's MAC covers.
func (r proofKeyRow) fields() []string {
	return []string{
		strconv.FormatInt(r.number, 10), r.public, r.secret, strconv.FormatInt(r.createdAt, 10), nullText(r.retiredAt),
	}
}

// unseal verifies the row and decrypts its secret. It returns proof.ErrTampered if the MAC is wrong.
func (r proofKeyRow) unseal(box *seal.Box) (proof.Key, error) {
	if !box.Check(r.mac, "proof_keys", r.fields()...) {
		return proof.Key{}, fmt.Errorf("proof key %d: %w", r.number, proof.ErrTampered)
	}
	k := proof.Key{Number: r.number, Public: proof.PublicKey(r.public), CreatedAt: utc(r.createdAt)}
	if r.retiredAt.Valid {
		k.RetiredAt = utc(r.retiredAt.V)
	}
	if r.secret == "" {
		return k, nil
	}
	seed, err := box.Open(proofKeySecretPurpose(r.number), r.secret)
	if err != nil {
		return proof.Key{}, fmt.Errorf("proof key %d: %w", r.number, err)
	}
	k.Private = ed25519.NewKeyFromSeed(seed)
	return k, nil
}

// ProofKeys implements proof.Storage. If one row was tampered with, it returns an error.
func (s *Storage) ProofKeys(ctx context.Context) ([]proof.Key, error) {
	rows, err := readAll(ctx, s, "read proof keys", readProofKeyRow, "SELECT number, public, secret, created_at, retired_at, mac FROM proof_keys ORDER BY number DESC")
	if err != nil {
		return nil, err
	}
	return unsealAll(s.box, rows)
}

// CreateProofKey implements proof.Storage.
func (s *Storage) CreateProofKey(ctx context.Context, k proof.Key) error {
	r := proofKeyRow{
		number: k.Number, public: string(k.Public), secret: s.box.Seal(proofKeySecretPurpose(k.Number), k.Private.Seed()),
		createdAt: k.CreatedAt.UnixMilli(),
	}
	r.mac = s.box.MAC("proof_keys", r.fields()...)
	return s.write(ctx, func(ctx context.Context, q querier) error {
		inserted, err := exec(ctx, q, `
			INSERT INTO proof_keys (number, public, secret, created_at, mac) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
			r.number, r.public, r.secret, r.createdAt, r.mac)
		if err != nil {
			return fmt.Errorf("write proof key: %w", err)
		}
		if inserted == 0 {
			return proof.ErrExists
		}
		if err := s.retireProofKeys(ctx, q, k); err != nil {
			return err
		}
		return s.record(ctx, q, audit.Change{Action: "proof_key.created", Subject: strconv.FormatInt(k.Number, 10)})
	})
}

// retireProofKeys retires the keys before a new one, and deletes their private keys.
func (s *Storage) retireProofKeys(ctx context.Context, q querier, successor proof.Key) error {
	rows, err := list(ctx, q, readProofKeyRow, `
		SELECT number, public, secret, created_at, retired_at, mac FROM proof_keys WHERE number < $1 AND retired_at IS NULL`, successor.Number)
	if err != nil {
		return fmt.Errorf("read proof keys: %w", err)
	}
	for _, r := range rows {
		if _, err := r.unseal(s.box); err != nil {
			return err
		}
		r.secret, r.retiredAt = "", millis(successor.CreatedAt)
		_, err := q.ExecContext(ctx, "UPDATE proof_keys SET secret = '', retired_at = $2, mac = $3 WHERE number = $1",
			r.number, r.retiredAt, s.box.MAC("proof_keys", r.fields()...))
		if err != nil {
			return fmt.Errorf("retire proof key: %w", err)
		}
	}
	return nil
}

func readProofKeyRow(row scanner) (r proofKeyRow, err error) {
	err = row.Scan(&r.number, &r.public, &r.secret, &r.createdAt, &r.retiredAt, &r.mac)
	return r, err
}

// proofKeySecretPurpose returns the purpose for which a key's seed is sealed.
func proofKeySecretPurpose(number int64) string {
	return "proof_keys secret " + strconv.FormatInt(number, 10)
}
