package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"chequer/internal/audit"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/storage/engine"
)

const linkColumns = "slug, merchant_id, mode, amount, fiat_currency, description, language, url_success, url_failure, methods, ends_at, max_uses, created_at"

// CreateLink implements merchant.LinkStorage.
func (s *Storage) CreateLink(ctx context.Context, l merchant.Link) error {
	return s.write(ctx, func(ctx context.Context, q querier) error {
		if err := dropLinks(ctx, q, "slug = $1 AND removed_at IS NOT NULL", l.Slug); err != nil {
			return err
		}
		n, err := exec(ctx, q, "INSERT INTO links ("+linkColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT DO NOTHING`,
			l.Slug, l.MerchantID, string(l.Mode), l.Amount, l.Currency, l.Description, l.Language, l.URLSuccess, l.URLFailure,
			string(l.Methods), millis(l.EndsAt), l.MaxUses, l.CreatedAt.UnixMilli())
		if err != nil {
			return fmt.Errorf("write link: %w", err)
		}
		if n == 0 {
			return merchant.ErrExists
		}
		if err := checkUnsold(ctx, q, l.MerchantID, l.Mode, invoice.Origin{Kind: invoice.FromLink, ID: l.Slug}); err != nil {
			return err
		}
		return s.record(ctx, q, audit.Change{MerchantID: l.MerchantID, Action: "link.created", Subject: l.Slug, After: linkFields(l)})
	})
}

// dropLinks deletes the removed links that meet a condition, with their uses.
func dropLinks(ctx context.Context, q querier, condition string, args ...any) error {
	if _, err := exec(ctx, q, "DELETE FROM link_uses WHERE slug IN (SELECT slug FROM links WHERE "+condition+")", args...); err != nil {
		return fmt.Errorf("delete uses of removed link: %w", err)
	}
	if _, err := exec(ctx, q, "DELETE FROM links WHERE "+condition, args...); err != nil {
		return fmt.Errorf("delete removed link: %w", err)
	}
	return nil
}

// Link implements merchant.LinkStorage.
func (s *Storage) Link(ctx context.Context, slug string) (merchant.Link, error) {
	l, err := readOne(ctx, s, readLinkColumns, "SELECT "+linkColumns+" FROM links WHERE slug = $1 AND removed_at IS NULL", slug)
	return l, merchantNotFound(err, "read link")
}

// Links implements merchant.LinkStorage.
func (s *Storage) Links(ctx context.Context, merchantID string, mode merchant.Mode, after merchant.LinkPosition, limit int) ([]merchant.Link, error) {
	page := links(merchantID, mode, after, limit)
	return readAll(ctx, s, "read links", readLinkColumns, page.text, page.args...)
}

// links returns the statement of Links.
func links(merchantID string, mode merchant.Mode, after merchant.LinkPosition, limit int) statement {
	where, args := conditions([]any{merchantID, string(mode), limit}, filterIf(after != merchant.LinkPosition{}, "(created_at, slug) < (?, ?)", after.CreatedAt.UnixMilli(), after.Slug))
	return statement{"SELECT " + linkColumns + " FROM links WHERE merchant_id = $1 AND mode = $2 AND removed_at IS NULL" + where +
		" ORDER BY created_at DESC, slug DESC LIMIT $3", args}
}

// RemovedLinks implements merchant.LinkStorage.
func (s *Storage) RemovedLinks(ctx context.Context, merchantID string, since time.Time, limit int) ([]merchant.RemovedLink, error) {
	return readAll(ctx, s, "read removed links", func(row scanner) (l merchant.RemovedLink, err error) {
		var removed int64
		l.Link, err = readLink(row, &removed)
		l.RemovedAt = utc(removed)
		return l, err
	}, "SELECT "+linkColumns+", removed_at FROM links WHERE merchant_id = $1 AND removed_at >= $2 ORDER BY removed_at DESC, slug LIMIT $3",
		merchantID, since.UnixMilli(), limit)
}

// UpdateLink implements merchant.LinkStorage.
func (s *Storage) UpdateLink(ctx context.Context, merchantID string, mode merchant.Mode, slug string, change func(*merchant.Link) error) (merchant.Link, error) {
	return answer(ctx, s.write, func(ctx context.Context, q querier) (merchant.Link, error) {
		l, err := s.lockLink(ctx, q, merchantID, mode, slug)
		if err != nil {
			return l, err
		}
		before := linkFields(l)
		if err := change(&l); err != nil {
			return l, err
		}
		_, err = exec(ctx, q, `
			UPDATE links SET amount = $2, fiat_currency = $3, description = $4, language = $5, url_success = $6, url_failure = $7,
				methods = $8, ends_at = $9, max_uses = $10
			WHERE slug = $1`,
			slug, l.Amount, l.Currency, l.Description, l.Language, l.URLSuccess, l.URLFailure, string(l.Methods), millis(l.EndsAt), l.MaxUses)
		if err != nil {
			return l, fmt.Errorf("write link: %w", err)
		}
		return l, s.record(ctx, q, audit.Change{MerchantID: merchantID, Action: "link.changed", Subject: slug}.Diff(before, linkFields(l)))
	})
}

// LinkUses implements merchant.LinkStorage.
func (s *Storage) LinkUses(ctx context.Context, slug string) (int, error) {
	n, err := readOne(ctx, s, column[int], "SELECT uses FROM links WHERE slug = $1", slug)
	if err != nil && !engine.Absent(err) {
		return 0, fmt.Errorf("read uses of link: %w", err)
	}
	return n, nil
}

// checkLinkUses returns invoice.ErrLinkUsed if the link of a creation has reached its limit of invoices, and
// merchant.ErrNotFound if the link was removed in the meantime. It locks the link until the end of the transaction.
func checkLinkUses(ctx context.Context, q querier, c invoice.Creation, lock string) error {
	if c.Link.Slug == "" {
		return nil
	}
	var used int
	err := q.QueryRowContext(ctx, "SELECT uses FROM links WHERE slug = $1 AND merchant_id = $2 AND removed_at IS NULL"+lock,
		c.Link.Slug, c.MerchantID).Scan(&used)
	if err != nil {
		return merchantNotFound(err, "read uses of link")
	}
	if c.Link.Max > 0 && used >= c.Link.Max {
		return invoice.ErrLinkUsed
	}
	return nil
}

// addLinkUse stores a new invoice of a link.
func addLinkUse(ctx context.Context, q querier, l invoice.LinkUse, inv invoiceRow) error {
	if l.Slug == "" {
		return nil
	}
	_, err := q.ExecContext(ctx, "INSERT INTO link_uses (slug, invoice_id) VALUES ($1, $2)", l.Slug, inv.id)
	if err != nil {
		return fmt.Errorf("write use of link: %w", err)
	}
	return addToLinkUses(ctx, q, l.Slug, inv, 1)
}

// updateLinkUses counts an invoice of a link whose status changed. On PostgreSQL the row of the link is locked before
// those of tallies.
func updateLinkUses(ctx context.Context, q querier, before, after invoiceRow) error {
	switch usedBefore, usesNow := usesLink(before.status), usesLink(after.status); {
	case usedBefore == usesNow || after.origin != string(invoice.FromLink):
		return nil
	case usesNow:
		return addToLinkUses(ctx, q, after.originID, after, 1)
	default:
		return addToLinkUses(ctx, q, after.originID, after, -1)
	}
}

// usesLink reports whether an invoice with a status is paid or can still be paid.
func usesLink(status string) bool {
	switch invoice.Status(status) {
	case invoice.Created, invoice.Pending, invoice.Paid:
		return true
	}
	return false
}

// addToLinkUses adds a number to the uses of a link, unless the link was removed since the invoice was created.
func addToLinkUses(ctx context.Context, q querier, slug string, inv invoiceRow, n int) error {
	_, err := q.ExecContext(ctx, `
		UPDATE links SET uses = uses + $3
		WHERE slug = $1 AND EXISTS (SELECT 1 FROM link_uses WHERE slug = $1 AND invoice_id = $2)`, slug, inv.id, n)
	if err != nil {
		return fmt.Errorf("count use of link: %w", err)
	}
	return nil
}

// RemoveLink implements merchant.LinkStorage.
func (s *Storage) RemoveLink(ctx context.Context, merchantID string, mode merchant.Mode, slug string, at, kept time.Time, check func(merchant.Link) error) error {
	return s.write(ctx, func(ctx context.Context, q querier) error {
		l, err := s.lockLink(ctx, q, merchantID, mode, slug)
		if err != nil {
			return err
		}
		if err := check(l); err != nil {
			return err
		}
		if _, err := exec(ctx, q, "UPDATE links SET removed_at = $2 WHERE slug = $1", slug, at.UnixMilli()); err != nil {
			return fmt.Errorf("remove link: %w", err)
		}
		if err := dropLinks(ctx, q, "merchant_id = $1 AND removed_at < $2", merchantID, kept.UnixMilli()); err != nil {
			return err
		}
		return s.record(ctx, q, audit.Change{MerchantID: merchantID, Action: "link.removed", Subject: slug, Before: linkFields(l)})
	})
}

// RestoreLink implements merchant.LinkStorage.
func (s *Storage) RestoreLink(ctx context.Context, merchantID string, mode merchant.Mode, slug string, since time.Time) error {
	return s.write(ctx, func(ctx context.Context, q querier) error {
		l, err := readLink(q.QueryRowContext(ctx, "SELECT "+linkColumns+` FROM links
			WHERE slug = $1 AND merchant_id = $2 AND mode = $3 AND removed_at >= $4`+s.engine.ForUpdate, slug, merchantID, string(mode), since.UnixMilli()))
		if err != nil {
			return merchantNotFound(err, "read removed link")
		}
		if _, err := exec(ctx, q, "UPDATE links SET removed_at = NULL WHERE slug = $1", slug); err != nil {
			return fmt.Errorf("restore link: %w", err)
		}
		return s.record(ctx, q, audit.Change{MerchantID: merchantID, Action: "link.restored", Subject: slug, After: linkFields(l)})
	})
}

// lockLink reads a merchant's link of a mode and locks its row until the end of the transaction.
func (s *Storage) lockLink(ctx context.Context, q querier, merchantID string, mode merchant.Mode, slug string) (merchant.Link, error) {
	l, err := readLink(q.QueryRowContext(ctx, "SELECT "+linkColumns+` FROM links
		WHERE slug = $1 AND merchant_id = $2 AND mode = $3 AND removed_at IS NULL`+s.engine.ForUpdate, slug, merchantID, string(mode)))
	return l, merchantNotFound(err, "read link")
}

// readLink reads the columns of a link, and further columns into more.
func readLink(row scanner, more ...any) (l merchant.Link, err error) {
	var created int64
	var ends sql.Null[int64]
	err = row.Scan(append([]any{
		&l.Slug, &l.MerchantID, &l.Mode, &l.Amount, &l.Currency, &l.Description, &l.Language, &l.URLSuccess, &l.URLFailure,
		&l.Methods, &ends, &l.MaxUses, &created,
	}, more...)...)
	l.CreatedAt, l.EndsAt = utc(created), fromMillis(ends)
	return l, err
}

// readLinkColumns is readLink without further columns.
func readLinkColumns(row scanner) (merchant.Link, error) { return readLink(row) }

// OrderedInvoice implements invoice.Storage.
func (s *Storage) OrderedInvoice(ctx context.Context, o invoice.Order) (*invoice.Invoice, error) {
	id, err := answer(ctx, s.read, func(ctx context.Context, q querier) (string, error) { return orderedInvoiceID(ctx, q, o) })
	if err == nil && id == "" {
		err = invoice.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return s.Invoice(ctx, id)
}

// orderedInvoiceID returns the ID of the invoice that an order leads to: an invoice that is paid at the order's
// price, otherwise another paid invoice, otherwise the newest invoice; "" if there is none. The error is invoice.ErrLinkUsed if its
// invoices were removed from the books.
func orderedInvoiceID(ctx context.Context, q querier, o invoice.Order) (id string, err error) {
	err = q.QueryRowContext(ctx, `
		SELECT o.invoice_id FROM link_orders o JOIN invoices i ON i.id = o.invoice_id
		WHERE o.key_id = $1 AND o.order_id = $2
		ORDER BY
			CASE WHEN i.status <> 'paid' THEN 2 WHEN i.price = $3 AND i.currency = $4 THEN 0 ELSE 1 END,
			o.number DESC
		LIMIT 1`, o.KeyID, o.ID, o.Price.Cents(), o.Price.Currency().Code).Scan(&id)
	if err == nil {
		return id, nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("read order of a link: %w", err)
	}
	var removed bool
	err = q.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM removed_orders WHERE key_id = $1 AND order_id = $2)", o.KeyID, o.ID).Scan(&removed)
	switch {
	case err != nil:
		return "", fmt.Errorf("read removed order of a link: %w", err)
	case removed:
		return "", invoice.ErrLinkUsed
	}
	return "", nil
}

// findOrder returns the invoice that an order leads to, if it differs from Order.After; otherwise
// "". The caller has locked the merchant's feed, so creations of one merchant do not run
// concurrently.
func findOrder(ctx context.Context, q querier, o invoice.Order) (invoiceID string, err error) {
	if o.IsZero() {
		return "", nil
	}
	latest, err := orderedInvoiceID(ctx, q, o)
	if err != nil || latest == o.After {
		return "", err
	}
	return latest, nil
}

// saveOrder stores an order's new invoice. The caller has locked the merchant's feed.
func saveOrder(ctx context.Context, q querier, o invoice.Order, invoiceID string) error {
	if o.IsZero() {
		return nil
	}
	_, err := q.ExecContext(ctx, `
		INSERT INTO link_orders (key_id, order_id, number, invoice_id)
		SELECT $1, $2, COALESCE(MAX(number), 0) + 1, $3 FROM link_orders WHERE key_id = $1 AND order_id = $2`, o.KeyID, o.ID, invoiceID)
	if err != nil {
		return fmt.Errorf("write order of a link: %w", err)
	}
	return nil
}
