-- +goose Up

-- The merchant's own accounts at exchanges, and what is sold there. One is in force
-- at a time.
CREATE TABLE exchange_accounts (
    id            TEXT    NOT NULL PRIMARY KEY,
    merchant_id   TEXT    NOT NULL REFERENCES merchants (id),
    exchange      TEXT    NOT NULL,
    key           TEXT    NOT NULL,
    secret        TEXT    NOT NULL, -- sealed
    coins         TEXT    NOT NULL, -- that are sold
    smallest      TEXT    NOT NULL, -- euro
    slippage      BIGINT  NOT NULL, -- hundredths of a percent
    active        BOOLEAN NOT NULL,
    created_at    BIGINT  NOT NULL,
    archived_at   BIGINT,
    mac           TEXT    NOT NULL, -- over all of the above
    claimed_until BIGINT  NOT NULL, -- who works with it has it alone
    nonce         BIGINT  NOT NULL  -- of the newest claim; it only grows
);
CREATE UNIQUE INDEX exchange_accounts_in_force ON exchange_accounts (merchant_id) WHERE archived_at IS NULL;

-- The sales of what paid an invoice, by number, which begins at 0: the first key
-- lets none be made a second time.
CREATE TABLE conversions (
    invoice_id  TEXT   NOT NULL REFERENCES invoices (id),
    number      BIGINT NOT NULL,
    merchant_id TEXT   NOT NULL,
    coin        TEXT   NOT NULL,
    amount      TEXT   NOT NULL, -- of the coin, at most
    rate        TEXT   NOT NULL, -- euro
    lowest      TEXT   NOT NULL, -- euro
    smallest    TEXT   NOT NULL, -- euro
    state       TEXT   NOT NULL,
    reason      TEXT   NOT NULL,
    created_at  BIGINT NOT NULL,
    since       BIGINT NOT NULL,
    next_at     BIGINT,          -- NULL when nothing is to be done
    tries       BIGINT NOT NULL,
    claim       BIGINT NOT NULL,
    orders      TEXT   NOT NULL,
    PRIMARY KEY (invoice_id, number),
    UNIQUE (invoice_id, coin)
);
CREATE INDEX conversions_due ON conversions (merchant_id, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX conversions_by_age ON conversions (merchant_id, created_at);

-- How many conversions an invoice has, so that those without are read as fast as
-- before.
ALTER TABLE invoices ADD COLUMN conversions BIGINT NOT NULL DEFAULT 0;
