package storage

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"chequer/internal/audit"
	"chequer/internal/invoice"
	"chequer/internal/storage/engine"
)

// keepPluginMetadata writes the metadata that a shop plug-in sent with a new invoice.
func keepPluginMetadata(ctx context.Context, q querier, c invoice.Creation, inv *invoice.Invoice) error {
	if len(c.PluginMetadata) == 0 {
		return nil
	}
	_, err := q.ExecContext(ctx, "INSERT INTO plugin_data (invoice_id, metadata, kept_since) VALUES ($1, $2, $3)",
		inv.ID, string(c.PluginMetadata), endOfDay(inv.CreatedAt).UnixMilli())
	if err != nil {
		return fmt.Errorf("write metadata of plug-in: %w", err)
	}
	return nil
}

// PluginData implements greenfield.Data.
func (s *Storage) PluginData(ctx context.Context, invoiceIDs ...string) (map[string]invoice.PluginData, error) {
	found := map[string]invoice.PluginData{}
	if len(invoiceIDs) == 0 {
		return found, nil
	}
	type row struct {
		id   string
		data invoice.PluginData
	}
	condition, args := ofInvoices(invoiceIDs)
	rows, err := readAll(ctx, s, "read data of plug-ins", func(scan scanner) (r row, err error) {
		var metadata string
		var archivedAt sql.Null[int64]
		err = scan.Scan(&r.id, &metadata, &archivedAt)
		r.data = invoice.PluginData{Metadata: []byte(metadata), ArchivedAt: fromMillis(archivedAt)}
		return r, err
	}, "SELECT invoice_id, metadata, archived_at FROM plugin_data WHERE "+condition, args...)
	for _, r := range rows {
		found[r.id] = r.data
	}
	return found, err
}

// PluginArchived implements greenfield.Data.
func (s *Storage) PluginArchived(ctx context.Context, invoiceIDs ...string) (map[string]bool, error) {
	archived := map[string]bool{}
	if len(invoiceIDs) == 0 {
		return archived, nil
	}
	condition, args := ofInvoices(invoiceIDs)
	ids, err := readAll(ctx, s, "read archived invoices of plug-ins", column[string],
		"SELECT invoice_id FROM plugin_data WHERE archived_at IS NOT NULL AND "+condition, args...)
	for _, id := range ids {
		archived[id] = true
	}
	return archived, err
}

// ofInvoices returns the SQL condition that selects the rows of invoices, and its arguments.
func ofInvoices(ids []string) (condition string, args []any) {
	numbers := make([]string, len(ids))
	for i, id := range ids {
		args, numbers[i] = append(args, id), "$"+strconv.Itoa(i+1)
	}
	return "invoice_id IN (" + strings.Join(numbers, ", ") + ")", args
}

// SetPluginMetadata implements greenfield.Data.
func (s *Storage) SetPluginMetadata(ctx context.Context, merchantID, invoiceID string, metadata []byte) error {
	return s.changePluginData(ctx, merchantID, invoiceID, func(d *invoice.PluginData) { d.Metadata = metadata })
}

// SetPluginArchived implements greenfield.Data. An invoice that is archived already keeps its time.
func (s *Storage) SetPluginArchived(ctx context.Context, merchantID, invoiceID string, at time.Time) error {
	return s.changePluginData(ctx, merchantID, invoiceID, func(d *invoice.PluginData) {
		if d.ArchivedAt.IsZero() {
			d.ArchivedAt = at
		}
	})
}

// changePluginData changes the data of an invoice, which it locks. It returns invoice.ErrNotFound if the merchant has
// no such invoice.
func (s *Storage) changePluginData(ctx context.Context, merchantID, invoiceID string, change func(*invoice.PluginData)) error {
	return s.write(ctx, func(ctx context.Context, q querier) error {
		var createdAt int64
		var metadata string
		var archivedAt sql.Null[int64]
		err := q.QueryRowContext(ctx, "SELECT created_at FROM invoices WHERE id = $1 AND merchant_id = $2"+s.engine.ForUpdate, invoiceID, merchantID).Scan(&createdAt)
		if err != nil {
			return notFound(err, "lock invoice", invoiceID)
		}
		err = q.QueryRowContext(ctx, "SELECT metadata, archived_at FROM plugin_data WHERE invoice_id = $1", invoiceID).Scan(&metadata, &archivedAt)
		if err != nil && !engine.Absent(err) {
			return fmt.Errorf("read data of plug-in: %w", err)
		}
		d := invoice.PluginData{Metadata: []byte(metadata), ArchivedAt: fromMillis(archivedAt)}
		before := d
		change(&d)
		if bytes.Equal(d.Metadata, before.Metadata) && d.ArchivedAt.Equal(before.ArchivedAt) {
			return nil
		}
		_, err = q.ExecContext(ctx, `
			INSERT INTO plugin_data (invoice_id, metadata, archived_at, kept_since) VALUES ($1, $2, $3, $4)
			ON CONFLICT (invoice_id) DO UPDATE SET metadata = excluded.metadata, archived_at = excluded.archived_at`,
			invoiceID, string(d.Metadata), millis(d.ArchivedAt), endOfDay(utc(createdAt)).UnixMilli())
		if err != nil {
			return fmt.Errorf("write data of plug-in: %w", err)
		}
		if err := examinePassed(ctx, q, merchantID, invoiceID); err != nil {
			return err
		}
		entry := audit.Change{MerchantID: merchantID, Action: "invoice.changed", Subject: invoiceID}
		return s.record(ctx, q, entry.Diff(pluginFields(before), pluginFields(d)))
	})
}

// pluginFields returns the values of a plug-in's data for the audit log. Metadata may contain personal data, of which
// only a hash is written.
func pluginFields(d invoice.PluginData) audit.Fields {
	return fields("metadata", fingerprint(string(d.Metadata)), "archived", stamp(d.ArchivedAt))
}
