-- +goose Up

-- The invoices whose stored rows a loop could not read, so that it skipped them.
CREATE TABLE unreadable_invoices (
    invoice_id TEXT   PRIMARY KEY,
    found_at   BIGINT NOT NULL
);
