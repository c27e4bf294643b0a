-- +goose Up

-- How many times an invoice became paid, and the first time.
ALTER TABLE invoices ADD COLUMN paid_count BIGINT NOT NULL DEFAULT 0;
ALTER TABLE invoices ADD COLUMN first_paid_at BIGINT;
UPDATE invoices SET paid_count = 1, first_paid_at = paid_at WHERE paid_at IS NOT NULL;

-- When a person let what was received stand for the full price, and which key or
-- command that was. Of earlier decisions neither is known.
ALTER TABLE invoices ADD COLUMN accepted_at BIGINT;
ALTER TABLE invoices ADD COLUMN accepted_by TEXT NOT NULL DEFAULT '';
