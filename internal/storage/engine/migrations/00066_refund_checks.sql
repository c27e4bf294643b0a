-- +goose Up

-- The trouble of a refund that the merchant has looked at. It raises no exception any more.
ALTER TABLE refunds ADD COLUMN checked TEXT NOT NULL DEFAULT ''; -- the trouble; empty if there is none
ALTER TABLE refunds ADD COLUMN checked_by TEXT NOT NULL DEFAULT '';
ALTER TABLE refunds ADD COLUMN checked_at BIGINT;

-- The market rate when a live refund was paid: euro per coin.
ALTER TABLE refunds ADD COLUMN market_rate TEXT NOT NULL DEFAULT ''; -- decimal; empty if none was known
ALTER TABLE refunds ADD COLUMN market_source TEXT NOT NULL DEFAULT '';
ALTER TABLE refunds ADD COLUMN market_at BIGINT;
