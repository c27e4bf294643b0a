-- +goose Up

-- Merchants list their invoices, newest first. The ID orders invoices of the same millisecond.
CREATE INDEX invoices_by_age ON invoices (merchant_id, mode, created_at, id);
CREATE INDEX invoices_by_order ON invoices (merchant_id, order_id) WHERE order_id <> '';

-- The asset of the refund address.
ALTER TABLE invoices ADD COLUMN refund_asset TEXT NOT NULL DEFAULT '';
