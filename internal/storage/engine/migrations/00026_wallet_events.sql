-- +goose Up

-- Events may have no invoice, such as a change of wallets.
CREATE TABLE feed_events (
    merchant_id TEXT   NOT NULL,
    position    BIGINT NOT NULL,
    id          TEXT   NOT NULL,
    invoice_id  TEXT   REFERENCES invoices (id), -- NULL for an event without an invoice
    type        TEXT   NOT NULL,
    version     BIGINT NOT NULL,
    created_at  BIGINT NOT NULL,
    body        TEXT   NOT NULL,
    mode        TEXT   NOT NULL DEFAULT '',
    PRIMARY KEY (merchant_id, position)
);
INSERT INTO feed_events (merchant_id, position, id, invoice_id, type, version, created_at, body, mode)
SELECT merchant_id, position, id, invoice_id, type, version, created_at, body, mode FROM events;
DROP TABLE events;
ALTER TABLE feed_events RENAME TO events;
CREATE INDEX events_by_mode ON events (merchant_id, mode, position);
