-- +goose Up

-- The removal of the books, by merchant. A run examines the invoices of each mode after a position, which it moves. The
-- numbers are those of the run.
CREATE TABLE book_runs (
    merchant_id TEXT   PRIMARY KEY REFERENCES merchants (id),
    next_at     BIGINT NOT NULL, -- the beginning of the next run
    cut         BIGINT NOT NULL, -- of the run; 0 before it begins
    live_at     BIGINT NOT NULL, -- creation of the last examined live invoice
    live_id     TEXT   NOT NULL,
    test_at     BIGINT NOT NULL,
    test_id     TEXT   NOT NULL,
    invoices    BIGINT NOT NULL,
    payments    BIGINT NOT NULL,
    refunds     BIGINT NOT NULL,
    notes       BIGINT NOT NULL
);

-- The time before which invoices were removed from the books, and the time of the first removal before it; 0 without a
-- removal. The sums have no days that began before the former.
ALTER TABLE day_sum_zones ADD COLUMN removed_before BIGINT NOT NULL DEFAULT 0;
ALTER TABLE day_sum_zones ADD COLUMN removed_at BIGINT NOT NULL DEFAULT 0;

-- The orders of signed links whose invoices were removed: the links create no other invoice.
CREATE TABLE removed_orders (
    key_id   TEXT NOT NULL REFERENCES api_keys (id),
    order_id TEXT NOT NULL,
    PRIMARY KEY (key_id, order_id)
);

-- For the rows of one invoice, which are removed with it. retention_waiting and unpaid_places have few rows.
CREATE INDEX destinations_by_invoice ON destinations (invoice_id);
CREATE INDEX events_by_invoice ON events (invoice_id);
CREATE INDEX link_orders_by_invoice ON link_orders (invoice_id);
CREATE INDEX link_uses_by_invoice ON link_uses (invoice_id);
