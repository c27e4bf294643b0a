package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"chequer/internal/audit"
	"chequer/internal/merchant"
	"chequer/internal/seal"
)

// endpointRow is an endpoint as stored in columns.
type endpointRow struct {
	id, merchantID, mode, url string
	key, secret               string // the secret is sealed
	nextKey, nextSecret       string // "" unless rotating, the secret sealed
	events                    string
	paused, plugin            bool
	createdAt                 int64
	archivedAt                sql.Null[int64]
	mac                       string
}

// sealEndpoint returns the row of an endpoint.
func sealEndpoint(box *seal.Box, e merchant.Endpoint) endpointRow {
	r := endpointRow{
		id: e.ID, merchantID: e.MerchantID, mode: string(e.Mode), url: e.URL,
		key: e.Key, secret: box.Seal(endpointSecretPurpose(e.ID), []byte(e.Secret)), nextKey: e.NextKey,
		events: listText(e.Events), paused: e.Paused, plugin: e.Plugin, createdAt: e.CreatedAt.UnixMilli(), archivedAt: millis(e.ArchivedAt),
	}
	if e.Rotating() {
		r.nextSecret = box.Seal(endpointSecretPurpose(e.ID), []byte(e.NextSecret))
	}
	r.mac = box.MAC("endpoints", r.fields()...)
	return r
}

// unseal verifies the row and decrypts its secrets. It returns merchant.ErrTampered if the MAC is wrong.
func (r endpointRow) unseal(box *seal.Box) (merchant.Endpoint, error) {
	if !box.Check(r.mac, "endpoints", r.fields()...) {
		return merchant.Endpoint{}, fmt.Errorf("endpoint %s: %w", r.id, merchant.ErrTampered)
	}
	e := merchant.Endpoint{
		ID: r.id, MerchantID: r.merchantID, Mode: merchant.Mode(r.mode), URL: r.url, Key: r.key, NextKey: r.nextKey,
		Paused: r.paused, Plugin: r.plugin, CreatedAt: utc(r.createdAt), ArchivedAt: fromMillis(r.archivedAt),
	}
	var err error
	if e.Events, err = parseList[string](r.events); err != nil {
		return e, fmt.Errorf("endpoint %s: events: %w", r.id, err)
	}
	secret, err := box.Open(endpointSecretPurpose(r.id), r.secret)
	if err != nil {
		return e, fmt.Errorf("endpoint %s: %w", r.id, err)
	}
	e.Secret = string(secret)
	if !e.Rotating() {
		return e, nil
	}
	if secret, err = box.Open(endpointSecretPurpose(r.id), r.nextSecret); err != nil {
		return e, fmt.Errorf("endpoint %s: %w", r.id, err)
	}
	e.NextSecret = string(secret)
	return e, nil
}

// fields returns the fields that the row's MAC covers.
func (r endpointRow) fields() []string {
	fields := []string{
		r.id, r.merchantID, r.mode, r.url, r.key, r.secret, r.nextKey, r.nextSecret, r.events, strconv.FormatBool(r.paused),
		strconv.FormatInt(r.createdAt, 10), nullText(r.archivedAt),
	}
	if r.plugin { // other rows are as in schema versions below 51
		fields = append(fields, "plugin")
	}
	return fields
}

// CreateEndpoint implements merchant.EndpointStorage.
func (s *Storage) CreateEndpoint(ctx context.Context, e merchant.Endpoint) error {
	r := sealEndpoint(s.box, e)
	return s.write(ctx, func(ctx context.Context, q querier) error {
		if err := s.lockMerchant(ctx, q, e.MerchantID); err != nil {
			return err
		}
		var count int
		err := q.QueryRowContext(ctx, "SELECT COUNT(*) FROM endpoints WHERE merchant_id = $1 AND archived_at IS NULL", e.MerchantID).Scan(&count)
		if err != nil {
			return fmt.Errorf("count endpoints: %w", err)
		}
		if count >= merchant.MaxEndpoints {
			return merchant.ErrTooMany
		}
		_, err = q.ExecContext(ctx, `
			INSERT INTO endpoints (id, merchant_id, mode, url, key, secret, next_key, next_secret, events, paused, plugin, created_at, mac)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
			r.id, r.merchantID, r.mode, r.url, r.key, r.secret, r.nextKey, r.nextSecret, r.events, r.paused, r.plugin, r.createdAt, r.mac)
		if err != nil {
			return fmt.Errorf("write endpoint: %w", err)
		}
		return s.record(ctx, q, audit.Change{MerchantID: e.MerchantID, Action: "endpoint.created", Subject: e.ID, After: endpointFields(e)})
	})
}

// Endpoints implements merchant.EndpointStorage. If one row was tampered with, it returns an error
// that names the row.
func (s *Storage) Endpoints(ctx context.Context, merchantID string) ([]merchant.Endpoint, error) {
	rows, err := readAll(ctx, s, "read endpoints", readEndpointRow, `
		SELECT id, merchant_id, mode, url, key, secret, next_key, next_secret, events, paused, plugin, created_at, archived_at, mac
		FROM endpoints WHERE merchant_id = $1 AND archived_at IS NULL ORDER BY created_at, id`, merchantID)
	if err != nil {
		return nil, err
	}
	endpoints, err := s.openEndpoints(rows)
	if err != nil {
		return nil, err
	}
	return endpoints, nil
}

// DueEndpoints implements webhook.Storage.
func (s *Storage) DueEndpoints(ctx context.Context, now time.Time) ([]merchant.Endpoint, error) {
	rows, err := readAll(ctx, s, "due endpoints", readEndpointRow, `
		SELECT id, merchant_id, mode, url, key, secret, next_key, next_secret, events, paused, plugin, created_at, archived_at, mac
		FROM endpoints WHERE archived_at IS NULL AND NOT paused AND EXISTS (
			SELECT 1 FROM deliveries d WHERE d.endpoint_id = endpoints.id AND d.next_try_at <= $1)`, now.UnixMilli())
	if err != nil {
		return nil, err
	}
	return s.openEndpoints(rows)
}

// openEndpoints decrypts rows. Rows that were tampered with are left out, and the error names them.
func (s *Storage) openEndpoints(rows []endpointRow) (endpoints []merchant.Endpoint, err error) {
	for _, r := range rows {
		e, unsealErr := r.unseal(s.box)
		if unsealErr != nil {
			err = errors.Join(err, unsealErr)
			continue
		}
		endpoints = append(endpoints, e)
	}
	return endpoints, err
}

// UpdateEndpoint implements merchant.EndpointStorage.
func (s *Storage) UpdateEndpoint(ctx context.Context, merchantID, id string, change func(*merchant.Endpoint) error) (merchant.Endpoint, error) {
	return answer(ctx, s.write, func(ctx context.Context, q querier) (merchant.Endpoint, error) {
		before, err := readEndpointRow(q.QueryRowContext(ctx, `
			SELECT id, merchant_id, mode, url, key, secret, next_key, next_secret, events, paused, plugin, created_at, archived_at, mac
			FROM endpoints WHERE id = $1 AND merchant_id = $2 AND archived_at IS NULL`+s.engine.ForUpdate, id, merchantID))
		if err != nil {
			return merchant.Endpoint{}, merchantNotFound(err, "read endpoint")
		}
		e, err := before.unseal(s.box)
		if err != nil {
			return e, err
		}
		entry := audit.Change{MerchantID: merchantID, Action: "endpoint.changed", Subject: id}
		fieldsBefore := endpointFields(e)
		if err := change(&e); err != nil {
			return e, err
		}
		entry = entry.Diff(fieldsBefore, endpointFields(e))
		r := sealEndpoint(s.box, e)
		_, err = q.ExecContext(ctx, `
			UPDATE endpoints SET url = $2, key = $3, secret = $4, next_key = $5, next_secret = $6, events = $7, paused = $8, archived_at = $9, mac = $10
			WHERE id = $1`, r.id, r.url, r.key, r.secret, r.nextKey, r.nextSecret, r.events, r.paused, r.archivedAt, r.mac)
		if err != nil {
			return e, fmt.Errorf("write endpoint: %w", err)
		}
		if r.archivedAt.Valid {
			entry.Action = "endpoint.removed"
			if err := failPendingDeliveries(ctx, q, id); err != nil {
				return e, err
			}
		}
		return e, s.record(ctx, q, entry)
	})
}

// failPendingDeliveries sets all pending deliveries of an endpoint to failed.
func failPendingDeliveries(ctx context.Context, q querier, endpointID string) error {
	_, err := q.ExecContext(ctx, "UPDATE deliveries SET state = 'failed', next_try_at = NULL WHERE endpoint_id = $1 AND next_try_at IS NOT NULL", endpointID)
	if err != nil {
		return fmt.Errorf("end pending deliveries: %w", err)
	}
	return nil
}

func readEndpointRow(row scanner) (r endpointRow, err error) {
	err = row.Scan(&r.id, &r.merchantID, &r.mode, &r.url, &r.key, &r.secret, &r.nextKey, &r.nextSecret, &r.events, &r.paused, &r.plugin,
		&r.createdAt, &r.archivedAt, &r.mac)
	return r, err
}

// endpointSecretPurpose returns the purpose for which an endpoint's secrets are sealed.
func endpointSecretPurpose(id string) string { return "endpoints secret " + id }
