-- +goose Up

-- Refunds that were asked for, prepared or sent. They are read with their invoice, and listed by merchant.
CREATE TABLE refunds (
    invoice_id  TEXT   NOT NULL REFERENCES invoices (id),
    number      BIGINT NOT NULL, -- within the invoice, from 0
    id          TEXT   NOT NULL UNIQUE,
    merchant_id TEXT   NOT NULL,
    mode        TEXT   NOT NULL,
    kind        TEXT   NOT NULL,
    state       TEXT   NOT NULL,
    network     TEXT   NOT NULL,
    asset       TEXT   NOT NULL,
    coin        TEXT   NOT NULL, -- code of the currency of amount
    decimals    BIGINT NOT NULL, -- of the currency of amount
    amount      TEXT   NOT NULL, -- smallest units, up to 256 bits
    rate        TEXT   NOT NULL, -- price of one coin in the currency of the invoice, or empty
    rate_source TEXT   NOT NULL,
    value       BIGINT NOT NULL, -- minor units of the currency of the invoice
    held_until  BIGINT,
    address     TEXT   NOT NULL,
    script      TEXT   NOT NULL,
    address_by  TEXT   NOT NULL,
    tx          TEXT   NOT NULL,
    reason      TEXT   NOT NULL,
    asked_by    TEXT   NOT NULL,
    asked_at    BIGINT NOT NULL,
    prepared_by TEXT   NOT NULL,
    prepared_at BIGINT,
    sent_by     TEXT   NOT NULL,
    sent_at     BIGINT,
    closed_by   TEXT   NOT NULL,
    closed_at   BIGINT,
    PRIMARY KEY (invoice_id, number)
);
CREATE INDEX refunds_by_merchant ON refunds (merchant_id, mode, asked_at, id);
CREATE INDEX refunds_by_state ON refunds (merchant_id, mode, state, asked_at, id);

ALTER TABLE invoices ADD COLUMN refunds BIGINT NOT NULL DEFAULT 0; -- number of refunds
-- The merchant has decided about all money that waited, by refunds or by keeping a surplus.
ALTER TABLE invoices ADD COLUMN decided BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE invoices ADD COLUMN kept TEXT NOT NULL DEFAULT '';
ALTER TABLE invoices ADD COLUMN kept_by TEXT NOT NULL DEFAULT '';
ALTER TABLE invoices ADD COLUMN kept_reason TEXT NOT NULL DEFAULT '';
ALTER TABLE invoices ADD COLUMN kept_at BIGINT;
