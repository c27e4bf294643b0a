-- +goose Up

-- Accounts of merchants at exchanges, with the coins that are sold there. A merchant has at most one
-- in force.
CREATE TABLE exchange_accounts (
    id            TEXT    NOT NULL PRIMARY KEY,
    merchant_id   TEXT    NOT NULL REFERENCES merchants (id),
    exchange      TEXT    NOT NULL,
    key           TEXT    NOT NULL,
    secret        TEXT    NOT NULL, -- sealed
    coins         TEXT    NOT NULL, -- codes of the coins that are sold
    smallest      TEXT    NOT NULL, -- euro
    slippage      BIGINT  NOT NULL, -- hundredths of a percent
    active        BOOLEAN NOT NULL,
    created_at    BIGINT  NOT NULL,
    archived_at   BIGINT,
    mac           TEXT    NOT NULL, -- over all columns above
    claimed_until BIGINT  NOT NULL, -- end of the claim of the process that uses the account
    nonce         BIGINT  NOT NULL  -- of the newest claim; never decreases
);
CREATE UNIQUE INDEX exchange_accounts_in_force ON exchange_accounts (merchant_id) WHERE archived_at IS NULL;

-- Sales of the coins that paid an invoice, numbered from 0. The primary key refuses a second sale
-- with the same number.
CREATE TABLE conversions (
    invoice_id  TEXT   NOT NULL REFERENCES invoices (id),
    number      BIGINT NOT NULL,
    merchant_id TEXT   NOT NULL,
    coin        TEXT   NOT NULL,
    amount      TEXT   NOT NULL, -- the largest amount of the coin that may be sold
    rate        TEXT   NOT NULL, -- euro
    lowest      TEXT   NOT NULL, -- euro
    smallest    TEXT   NOT NULL, -- euro
    state       TEXT   NOT NULL,
    reason      TEXT   NOT NULL,
    created_at  BIGINT NOT NULL,
    since       BIGINT NOT NULL,
    next_at     BIGINT,          -- NULL if no step is due
    tries       BIGINT NOT NULL,
    claim       BIGINT NOT NULL,
    orders      TEXT   NOT NULL,
    PRIMARY KEY (invoice_id, number),
    UNIQUE (invoice_id, coin)
);
CREATE INDEX conversions_due ON conversions (merchant_id, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX conversions_by_age ON conversions (merchant_id, created_at);

-- The number of sales of an invoice. If it is 0, readers skip the query of this table.
ALTER TABLE invoices ADD COLUMN conversions BIGINT NOT NULL DEFAULT 0;
