-- +goose Up

-- What the keys of a merchant received: the sums of the confirmed transfers to its live invoices, by key and asset, so that no
-- transfer is read for them. They change in the transaction that changes a transfer.
CREATE TABLE received_sums (
    merchant_id TEXT   NOT NULL,
    counter     TEXT   NOT NULL, -- of the key
    asset       TEXT   NOT NULL,
    currency    TEXT   NOT NULL,
    decimals    BIGINT NOT NULL,
    units       TEXT   NOT NULL, -- smallest units of the currency, which may be more than a BIGINT holds
    PRIMARY KEY (merchant_id, counter, asset, currency, decimals)
);

-- The position up to which the live invoices are in received_sums. Existing merchants begin at 0; the program computes their
-- sums in parts, because SQL cannot derive the addresses of a key.
ALTER TABLE day_sum_zones ADD COLUMN received_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE day_sum_zones ADD COLUMN received_id TEXT NOT NULL DEFAULT '';
INSERT INTO day_sum_zones (merchant_id, zone, generation, next_zone, next_until)
SELECT id, 'UTC', 0, '', 0 FROM merchants WHERE NOT EXISTS (SELECT 1 FROM day_sum_zones WHERE merchant_id = merchants.id);
