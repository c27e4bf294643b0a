-- +goose Up

-- The market rate when a live transfer was recorded: euro per coin.
ALTER TABLE transfers ADD COLUMN rate TEXT NOT NULL DEFAULT ''; -- decimal; empty if none was known
ALTER TABLE transfers ADD COLUMN rate_source TEXT NOT NULL DEFAULT '';
ALTER TABLE transfers ADD COLUMN rate_at BIGINT;

-- The share of a row of a sweep in the fee of its transaction, in the smallest units of the coin; empty if it is not known.
ALTER TABLE sweep_rows ADD COLUMN fee TEXT NOT NULL DEFAULT '';

-- The revision of each invoice that a closing has examined, if nothing of it was left for later months.
CREATE TABLE examined_invoices (
    invoice_id TEXT   PRIMARY KEY REFERENCES invoices (id),
    revision   BIGINT NOT NULL
);

-- The closed months of the books.
CREATE TABLE closings (
    merchant_id TEXT   NOT NULL REFERENCES merchants (id),
    month       TEXT   NOT NULL, -- 2026-11
    closed_at   BIGINT NOT NULL,
    lines       BIGINT NOT NULL,
    header      TEXT   NOT NULL, -- the first row of the file
    statement   TEXT   NOT NULL, -- signed
    PRIMARY KEY (merchant_id, month)
);

-- The rows of the files of closed months. They stay when an invoice is removed.
CREATE TABLE closed_lines (
    merchant_id TEXT   NOT NULL,
    month       TEXT   NOT NULL,
    number      BIGINT NOT NULL, -- within the month, from 1
    movement    TEXT   NOT NULL,
    owner       TEXT   NOT NULL, -- ID of the invoice or of the sweep
    record      TEXT   NOT NULL, -- the row of the file
    PRIMARY KEY (merchant_id, month, number),
    FOREIGN KEY (merchant_id, month) REFERENCES closings (merchant_id, month)
);
CREATE INDEX closed_lines_by_owner ON closed_lines (merchant_id, owner);
