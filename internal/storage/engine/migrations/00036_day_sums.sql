-- +goose Up

-- The sums of the paid invoices of each day, so that totals of a period read no invoice. They change in
-- the transaction that makes an invoice paid, or no longer paid.
CREATE TABLE day_sums (
    merchant_id TEXT   NOT NULL,
    mode        TEXT   NOT NULL,
    day         BIGINT NOT NULL, -- days since 1 January 1970 in UTC
    currency    TEXT   NOT NULL,
    decimals    BIGINT NOT NULL,
    paid_asset  TEXT   NOT NULL,
    origin      TEXT   NOT NULL,
    origin_id   TEXT   NOT NULL,
    invoices    BIGINT NOT NULL,
    price       BIGINT NOT NULL, -- minor units
    received    BIGINT NOT NULL, -- minor units that count towards the price
    PRIMARY KEY (merchant_id, mode, day, currency, decimals, paid_asset, origin, origin_id)
);
INSERT INTO day_sums (merchant_id, mode, day, currency, decimals, paid_asset, origin, origin_id, invoices, price, received)
SELECT merchant_id, mode, paid_at / 86400000, currency, decimals, paid_asset, origin, origin_id,
    COUNT(*), SUM(price), SUM(paid)
FROM invoices WHERE paid_at IS NOT NULL
GROUP BY merchant_id, mode, paid_at / 86400000, currency, decimals, paid_asset, origin, origin_id;

-- For the export of the invoices that became paid in a period.
CREATE INDEX invoices_by_paid_at ON invoices (merchant_id, mode, paid_at, id) WHERE paid_at IS NOT NULL;
