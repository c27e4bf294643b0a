-- +goose Up

-- The number of times that an invoice became paid, and the first of these times.
ALTER TABLE invoices ADD COLUMN paid_count BIGINT NOT NULL DEFAULT 0;
ALTER TABLE invoices ADD COLUMN first_paid_at BIGINT;
UPDATE invoices SET paid_count = 1, first_paid_at = paid_at WHERE paid_at IS NOT NULL;

-- The time at which a person accepted the received amount as the full price, and the API key or
-- command that did it. Both are unknown for decisions before this migration.
ALTER TABLE invoices ADD COLUMN accepted_at BIGINT;
ALTER TABLE invoices ADD COLUMN accepted_by TEXT NOT NULL DEFAULT '';
