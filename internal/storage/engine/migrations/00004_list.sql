-- +goose Up

-- Merchants list their invoices, newest first; the identifier tells apart what was
-- made in the same millisecond.
CREATE INDEX invoices_by_age ON invoices (merchant_id, mode, created_at, id);
CREATE INDEX invoices_by_order ON invoices (merchant_id, order_id) WHERE order_id <> '';

-- The asset that the refund address is for.
ALTER TABLE invoices ADD COLUMN refund_asset TEXT NOT NULL DEFAULT '';
