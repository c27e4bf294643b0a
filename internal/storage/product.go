package storage

import (
	"context"
	"fmt"

	"chequer/internal/audit"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/storage/engine"
)

// CreateProduct implements merchant.ProductStorage.
func (s *Storage) CreateProduct(ctx context.Context, p merchant.Product) error {
	return s.write(ctx, func(ctx context.Context, q querier) error {
		n, err := exec(ctx, q, `
		INSERT INTO products (merchant_id, slug, mode, name, description, price, fiat_currency, max_quantity, ask_order_id, ask_note, methods, active, created_at, vat_rate)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) ON CONFLICT DO NOTHING`,
			p.MerchantID, p.Slug, string(p.Mode), p.Name, p.Description, p.Price.Cents(), p.Price.Currency().Code, p.MaxQuantity,
			string(p.AskOrderID), string(p.AskNote), string(p.Methods), p.Active, p.CreatedAt.UnixMilli(), p.VAT.String())
		if err != nil {
			return fmt.Errorf("write product: %w", err)
		}
		if n == 0 {
			return merchant.ErrExists
		}
		if err := checkUnsold(ctx, q, p.MerchantID, p.Mode, invoice.Origin{Kind: invoice.FromProduct, ID: p.Slug}); err != nil {
			return err
		}
		return s.record(ctx, q, audit.Change{MerchantID: p.MerchantID, Action: "product.created", Subject: p.Slug, After: productFields(p)})
	})
}

// checkUnsold returns a *merchant.FieldError if a merchant has invoices of a mode from a removed product or link with the slug of
// a new one. Lists and sums identify a source by its slug, so they would mix the invoices of both.
func checkUnsold(ctx context.Context, q querier, merchantID string, mode merchant.Mode, o invoice.Origin) error {
	var found int
	err := q.QueryRowContext(ctx, invoiceOfSource, merchantID, string(mode), o.ID, string(o.Kind)).Scan(&found)
	if engine.Absent(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find invoices of %s %s: %w", o.Kind, o.ID, err)
	}
	return &merchant.FieldError{Field: "slug", Fault: "must be another one: a removed " + string(o.Kind) + " with this slug has invoices, which reports would add to the new one"}
}

// invoiceOfSource is the statement of checkUnsold.
const invoiceOfSource = `
	SELECT 1 FROM invoices WHERE merchant_id = $1 AND mode = $2 AND origin_id = $3 AND origin_id <> '' AND origin <> 'api' AND origin = $4 LIMIT 1`

// Product implements merchant.ProductStorage.
func (s *Storage) Product(ctx context.Context, merchantID, slug string) (merchant.Product, error) {
	p, err := readOne(ctx, s, readProduct, `
		SELECT merchant_id, slug, mode, name, description, price, fiat_currency, max_quantity, ask_order_id, ask_note, methods, active, created_at, vat_rate
		FROM products WHERE merchant_id = $1 AND slug = $2`, merchantID, slug)
	return p, merchantNotFound(err, "read product")
}

// Products implements merchant.ProductStorage.
func (s *Storage) Products(ctx context.Context, merchantID string) ([]merchant.Product, error) {
	return readAll(ctx, s, "read products", readProduct, `
		SELECT merchant_id, slug, mode, name, description, price, fiat_currency, max_quantity, ask_order_id, ask_note, methods, active, created_at, vat_rate
		FROM products WHERE merchant_id = $1 ORDER BY created_at, slug`, merchantID)
}

// UpdateProduct implements merchant.ProductStorage.
func (s *Storage) UpdateProduct(ctx context.Context, merchantID string, mode merchant.Mode, slug string, change func(*merchant.Product) error) (merchant.Product, error) {
	return answer(ctx, s.write, func(ctx context.Context, q querier) (merchant.Product, error) {
		p, err := s.lockProduct(ctx, q, merchantID, mode, slug)
		if err != nil {
			return p, err
		}
		before := productFields(p)
		if err := change(&p); err != nil {
			return p, err
		}
		_, err = exec(ctx, q, `
			UPDATE products SET name = $3, description = $4, price = $5, fiat_currency = $6, max_quantity = $7, ask_order_id = $8, ask_note = $9, active = $10, methods = $11, vat_rate = $12
			WHERE merchant_id = $1 AND slug = $2`,
			merchantID, slug, p.Name, p.Description, p.Price.Cents(), p.Price.Currency().Code, p.MaxQuantity, string(p.AskOrderID), string(p.AskNote), p.Active,
			string(p.Methods), p.VAT.String())
		if err != nil {
			return p, fmt.Errorf("write product: %w", err)
		}
		return p, s.record(ctx, q, audit.Change{MerchantID: merchantID, Action: "product.changed", Subject: slug}.Diff(before, productFields(p)))
	})
}

// RemoveProduct implements merchant.ProductStorage.
func (s *Storage) RemoveProduct(ctx context.Context, merchantID string, mode merchant.Mode, slug string, check func(merchant.Product) error) error {
	return s.write(ctx, func(ctx context.Context, q querier) error {
		p, err := s.lockProduct(ctx, q, merchantID, mode, slug)
		if err != nil {
			return err
		}
		if err := check(p); err != nil {
			return err
		}
		if _, err := exec(ctx, q, "DELETE FROM products WHERE merchant_id = $1 AND slug = $2", merchantID, slug); err != nil {
			return fmt.Errorf("remove product: %w", err)
		}
		return s.record(ctx, q, audit.Change{MerchantID: merchantID, Action: "product.removed", Subject: slug, Before: productFields(p)})
	})
}

// lockProduct reads a merchant's product of a mode and locks its row until the end of the transaction.
func (s *Storage) lockProduct(ctx context.Context, q querier, merchantID string, mode merchant.Mode, slug string) (merchant.Product, error) {
	p, err := readProduct(q.QueryRowContext(ctx, `
		SELECT merchant_id, slug, mode, name, description, price, fiat_currency, max_quantity, ask_order_id, ask_note, methods, active, created_at, vat_rate
		FROM products WHERE merchant_id = $1 AND slug = $2 AND mode = $3`+s.engine.ForUpdate, merchantID, slug, string(mode)))
	return p, merchantNotFound(err, "read product")
}

func readProduct(row scanner) (p merchant.Product, err error) {
	var price, created int64
	var code, vat string
	err = row.Scan(&p.MerchantID, &p.Slug, &p.Mode, &p.Name, &p.Description, &price, &code, &p.MaxQuantity, &p.AskOrderID, &p.AskNote, &p.Methods, &p.Active, &created, &vat)
	if err != nil {
		return p, err
	}
	fiat, known := money.Fiat(code)
	if !known {
		return p, fmt.Errorf("product %s: unknown currency %q", p.Slug, code)
	}
	if p.VAT, err = money.ParseVATRate(vat); err != nil {
		return p, fmt.Errorf("product %s: VAT rate %q: %w", p.Slug, vat, err)
	}
	p.Price, p.CreatedAt = money.FromCents(price, fiat), utc(created)
	return p, nil
}
