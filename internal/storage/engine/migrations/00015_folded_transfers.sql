-- +goose Up

-- The number of small transfers that a row represents; 0 if the row is a single transfer. A row
-- that is added to another one is deleted, so that numbers are in order but may have gaps.
ALTER TABLE transfers ADD COLUMN folded BIGINT NOT NULL DEFAULT 0;

-- Increases with each write of the invoice or of a row that belongs to it.
ALTER TABLE invoices ADD COLUMN revision BIGINT NOT NULL DEFAULT 0;
