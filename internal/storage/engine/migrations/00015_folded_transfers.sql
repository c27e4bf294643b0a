-- +goose Up

-- How many transfers a row stands for that are too small to be kept one by one; 0
-- when it is a transfer of its own. Such a row may be deleted when it is added to
-- another one, so that numbers are in order but may have gaps.
ALTER TABLE transfers ADD COLUMN folded BIGINT NOT NULL DEFAULT 0;

-- Grows with each write of the invoice or of anything that belongs to it.
ALTER TABLE invoices ADD COLUMN revision BIGINT NOT NULL DEFAULT 0;
