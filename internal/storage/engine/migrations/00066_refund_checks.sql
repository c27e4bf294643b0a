-- +goose Up

-- The trouble of a refund that the merchant has looked at. It raises no exception any more.
ALTER TABLE refunds ADD COLUMN checked TEXT NOT NULL DEFAULT ''; -- the trouble; '' if there is none
ALTER TABLE refunds ADD COLUMN checked_by TEXT NOT NULL DEFAULT '';
ALTER TABLE refunds ADD COLUMN checked_at BIGINT;
