-- +goose Up

-- When personal data of shoppers were removed from the invoice, and their kinds, as a JSON list.
ALTER TABLE invoices ADD COLUMN removed_at BIGINT; -- NULL = nothing was removed
ALTER TABLE invoices ADD COLUMN removed TEXT NOT NULL DEFAULT '';

-- The removal of personal data, by merchant. A run examines the invoices of each mode after a position, which it
-- moves, and then those of retention_waiting. The numbers are those of the run.
CREATE TABLE retention_runs (
    merchant_id      TEXT   PRIMARY KEY REFERENCES merchants (id),
    next_at          BIGINT NOT NULL, -- the beginning of the next run
    live_at          BIGINT NOT NULL, -- creation of the last examined live invoice
    live_id          TEXT   NOT NULL,
    test_at          BIGINT NOT NULL,
    test_id          TEXT   NOT NULL,
    waiting_id       TEXT   NOT NULL, -- of the last examined invoice of retention_waiting; empty before the first one
    invoices         BIGINT NOT NULL,
    notes            BIGINT NOT NULL,
    refund_addresses BIGINT NOT NULL,
    metadata         BIGINT NOT NULL,
    return_addresses BIGINT NOT NULL
);

-- The invoices that runs have passed and examine again: their period had not ended, or they were changed after
-- personal data were removed.
CREATE TABLE retention_waiting (
    merchant_id TEXT NOT NULL,
    invoice_id  TEXT NOT NULL REFERENCES invoices (id),
    PRIMARY KEY (merchant_id, invoice_id)
);
