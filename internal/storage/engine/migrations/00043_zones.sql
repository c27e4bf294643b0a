-- +goose Up

-- The time zone of the sums of days of each merchant. A change of the zone computes another generation of sums from
-- the invoices, in parts; reports read the former generation until the new one is complete.
CREATE TABLE day_sum_zones (
    merchant_id TEXT   NOT NULL PRIMARY KEY,
    zone        TEXT   NOT NULL, -- of the generation that is read
    generation  BIGINT NOT NULL, -- that is read
    next_zone   TEXT   NOT NULL, -- of the next generation, which is being computed; empty if none is
    next_until  BIGINT NOT NULL  -- the next generation has the invoices that became paid before this time, in Unix milliseconds
);

-- The rename waits for transactions of PostgreSQL that change sums, so that the copy has their changes.
ALTER TABLE day_sums RENAME TO former_day_sums;
CREATE TABLE copied_day_sums AS SELECT * FROM former_day_sums;
DROP TABLE former_day_sums;
CREATE TABLE day_sums (
    merchant_id TEXT   NOT NULL,
    generation  BIGINT NOT NULL,
    mode        TEXT   NOT NULL,
    day         BIGINT NOT NULL, -- days since 1 January 1970 in the zone of the generation
    currency    TEXT   NOT NULL,
    decimals    BIGINT NOT NULL,
    paid_asset  TEXT   NOT NULL,
    origin      TEXT   NOT NULL,
    origin_id   TEXT   NOT NULL,
    invoices    BIGINT NOT NULL,
    price       BIGINT NOT NULL, -- minor units
    received    BIGINT NOT NULL, -- minor units that count towards the price
    PRIMARY KEY (merchant_id, generation, mode, day, currency, decimals, paid_asset, origin, origin_id)
);
INSERT INTO day_sums (merchant_id, generation, mode, day, currency, decimals, paid_asset, origin, origin_id, invoices, price, received)
SELECT merchant_id, 0, mode, day, currency, decimals, paid_asset, origin, origin_id, invoices, price, received FROM copied_day_sums;
DROP TABLE copied_day_sums;

-- Computes all sums again: on PostgreSQL, migration 36 missed the invoices of transactions that were open meanwhile.
INSERT INTO day_sum_zones (merchant_id, zone, generation, next_zone, next_until)
SELECT id, 'UTC', 0, 'UTC', 0 FROM merchants;
