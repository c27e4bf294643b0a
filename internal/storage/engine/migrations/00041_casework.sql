-- +goose Up

-- Notes of the team about an invoice. Shoppers never see them.
CREATE TABLE team_notes (
    id          TEXT   PRIMARY KEY,
    invoice_id  TEXT   NOT NULL REFERENCES invoices (id),
    merchant_id TEXT   NOT NULL,
    author_id   TEXT   NOT NULL, -- account
    author      TEXT   NOT NULL, -- name of the account when it wrote the note
    at          BIGINT NOT NULL,
    body        TEXT   NOT NULL
);
CREATE INDEX team_notes_by_invoice ON team_notes (invoice_id, at, id);

-- Invoices that wait for a decision and are hidden until a time. A change of the facts of the invoice deletes the row.
CREATE TABLE snoozes (
    invoice_id  TEXT   PRIMARY KEY REFERENCES invoices (id),
    merchant_id TEXT   NOT NULL,
    mode        TEXT   NOT NULL,
    until       BIGINT NOT NULL,
    set_by      TEXT   NOT NULL -- name of the account
);
CREATE INDEX snoozes_by_end ON snoozes (merchant_id, mode, until, invoice_id);

-- Invoices that have stopped waiting for a decision, for a few days.
CREATE TABLE resolutions (
    invoice_id  TEXT   PRIMARY KEY REFERENCES invoices (id),
    merchant_id TEXT   NOT NULL,
    mode        TEXT   NOT NULL,
    at          BIGINT NOT NULL,
    actor_kind  TEXT   NOT NULL,
    actor_name  TEXT   NOT NULL
);
CREATE INDEX resolutions_by_time ON resolutions (merchant_id, mode, at, invoice_id);
