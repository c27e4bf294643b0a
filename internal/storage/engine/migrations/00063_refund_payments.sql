-- +goose Up

-- The transfer that pays a refund, as its network shows it; pay_id is empty if the network shows none.
ALTER TABLE refunds ADD COLUMN pay_id TEXT NOT NULL DEFAULT '';
ALTER TABLE refunds ADD COLUMN pay_seen_at BIGINT;
ALTER TABLE refunds ADD COLUMN pay_height BIGINT; -- NULL while it is unconfirmed
ALTER TABLE refunds ADD COLUMN pay_hash TEXT NOT NULL DEFAULT '';
ALTER TABLE refunds ADD COLUMN pay_time BIGINT;
ALTER TABLE refunds ADD COLUMN pay_confirmations BIGINT NOT NULL DEFAULT 0;
ALTER TABLE refunds ADD COLUMN pay_required BIGINT NOT NULL DEFAULT 0;
ALTER TABLE refunds ADD COLUMN trouble TEXT NOT NULL DEFAULT '';
ALTER TABLE refunds ADD COLUMN former_amounts TEXT NOT NULL DEFAULT ''; -- smallest units
ALTER TABLE refunds ADD COLUMN watch_until BIGINT; -- NULL if the network is not watched for the payment
ALTER TABLE refunds ADD COLUMN position BIGINT NOT NULL DEFAULT 0; -- in the merchant's feed, of the last change of what is watched
UPDATE refunds SET watch_until = prepared_at + 31536000000 WHERE state = 'ready' AND script <> '' AND network NOT LIKE 'lightning%';

CREATE INDEX refunds_by_position ON refunds (merchant_id, network, position) WHERE watch_until IS NOT NULL;
CREATE INDEX refunds_by_payment ON refunds (network, pay_id) WHERE pay_id <> '';
CREATE INDEX refunds_stated ON refunds (network, asset, watch_until) WHERE state = 'sent' AND watch_until IS NOT NULL;
CREATE INDEX refunds_unfinal ON refunds (network) WHERE pay_id <> '' AND pay_confirmations < pay_required;
CREATE INDEX refunds_by_block ON refunds (network, pay_height) WHERE pay_id <> '' AND pay_confirmations >= pay_required;
