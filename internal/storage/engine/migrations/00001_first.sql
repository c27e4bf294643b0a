-- +goose Up

-- One schema for SQLite and PostgreSQL: TEXT, BIGINT and BOOLEAN. Times are Unix
-- milliseconds, NULL where there is none. Fiat is whole smallest units, so that
-- SQL may sum it; crypto amounts are decimal text. Lists and frozen values are
-- JSON.

CREATE TABLE meta (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);

-- Its row is locked by who changes the made-up chain.
INSERT INTO meta (name, value) VALUES ('simnet', '');

CREATE TABLE merchants (
    id         TEXT   NOT NULL PRIMARY KEY,
    name       TEXT   NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE api_keys (
    id          TEXT   NOT NULL PRIMARY KEY,
    merchant_id TEXT   NOT NULL REFERENCES merchants (id),
    key         TEXT   NOT NULL UNIQUE,
    secret      TEXT   NOT NULL, -- sealed
    mode        TEXT   NOT NULL,
    scopes      TEXT   NOT NULL,
    created_at  BIGINT NOT NULL,
    revoked_at  BIGINT,
    mac         TEXT   NOT NULL  -- over all of the above
);
CREATE INDEX api_keys_of_merchant ON api_keys (merchant_id, created_at);

CREATE TABLE wallets (
    id          TEXT   NOT NULL PRIMARY KEY,
    merchant_id TEXT   NOT NULL REFERENCES merchants (id),
    mode        TEXT   NOT NULL,
    asset       TEXT   NOT NULL,
    key         TEXT   NOT NULL, -- public
    counter     TEXT   NOT NULL,
    secret      TEXT   NOT NULL, -- of test wallets, sealed
    created_at  BIGINT NOT NULL,
    archived_at BIGINT,
    mac         TEXT   NOT NULL  -- over all of the above
);
CREATE UNIQUE INDEX wallets_in_force ON wallets (merchant_id, mode, asset) WHERE archived_at IS NULL;

-- The next unused destination index of a key, whoever owns wallets with it.
CREATE TABLE counters (
    name TEXT   NOT NULL PRIMARY KEY,
    next BIGINT NOT NULL
);

CREATE TABLE invoices (
    id            TEXT   NOT NULL PRIMARY KEY,
    merchant_id   TEXT   NOT NULL REFERENCES merchants (id),
    mode          TEXT   NOT NULL,
    version       BIGINT NOT NULL,
    status        TEXT   NOT NULL,
    exceptions    TEXT   NOT NULL,
    price         BIGINT NOT NULL,
    currency      TEXT   NOT NULL,
    decimals      BIGINT NOT NULL, -- of the currency
    paid          BIGINT NOT NULL,
    due           BIGINT NOT NULL,
    overpaid      TEXT   NOT NULL, -- decimal: there is no limit to it
    order_id      TEXT   NOT NULL,
    created_at    BIGINT NOT NULL,
    expires_at    BIGINT NOT NULL, -- end of the newest quote
    next_check_at BIGINT,
    paid_at       BIGINT,
    paid_tx       TEXT   NOT NULL,
    paid_asset    TEXT   NOT NULL,
    declined_at   BIGINT,
    delayed_at    BIGINT,
    accepted      TEXT   NOT NULL, -- transfers that a person let stand
    refund        TEXT   NOT NULL,
    clock         BIGINT NOT NULL, -- milliseconds ahead of everybody's
    terms         TEXT   NOT NULL,
    methods       TEXT   NOT NULL,
    quotes        TEXT   NOT NULL,
    coverage      TEXT   NOT NULL
);
CREATE INDEX invoices_to_check ON invoices (next_check_at) WHERE next_check_at IS NOT NULL;

-- What the prices of quotes rest on, once for all quotes that share it.
CREATE TABLE evidence (
    name TEXT NOT NULL PRIMARY KEY,
    body TEXT NOT NULL
);

-- One row for every script that is looked for. Its position in the merchant's
-- feed is that of the event since which it is looked for so long.
CREATE TABLE destinations (
    network       TEXT   NOT NULL,
    script        TEXT   NOT NULL,
    invoice_id    TEXT   NOT NULL REFERENCES invoices (id),
    merchant_id   TEXT   NOT NULL,
    address_index BIGINT NOT NULL,
    position      BIGINT NOT NULL,
    watch_until   BIGINT NOT NULL,
    PRIMARY KEY (network, script)
);
CREATE INDEX destinations_by_position ON destinations (network, merchant_id, position);

CREATE TABLE transfers (
    network       TEXT    NOT NULL,
    id            TEXT    NOT NULL,
    invoice_id    TEXT    NOT NULL REFERENCES invoices (id),
    number        BIGINT  NOT NULL, -- within the invoice
    tx            TEXT    NOT NULL,
    asset         TEXT    NOT NULL,
    script        TEXT    NOT NULL,
    amount        TEXT    NOT NULL,
    currency      TEXT    NOT NULL,
    decimals      BIGINT  NOT NULL, -- of the currency
    spends        TEXT    NOT NULL,
    coinbase      BOOLEAN NOT NULL,
    presence      TEXT    NOT NULL,
    first_seen    BIGINT  NOT NULL,
    sighted       BOOLEAN NOT NULL,
    block_height  BIGINT,           -- NULL while it is in no block
    block_hash    TEXT    NOT NULL,
    block_time    BIGINT,
    confirmed_at  BIGINT,
    confirmations BIGINT  NOT NULL,
    required      BIGINT  NOT NULL,
    old           BOOLEAN NOT NULL,
    market        TEXT    NOT NULL, -- fiat, decimal; empty when not known
    PRIMARY KEY (network, id),
    UNIQUE (invoice_id, number)
);
-- Scans ask for what is unfinished and for the newest blocks, never for the past.
CREATE INDEX transfers_unfinished ON transfers (network) WHERE presence = 'present' AND (block_height IS NULL OR confirmations < required);
CREATE INDEX transfers_finished ON transfers (network, block_height) WHERE presence = 'present' AND confirmations >= required;

-- How many events a merchant's feed has. Its row is locked last in a
-- transaction, so that the order of positions is the order of commits.
CREATE TABLE feeds (
    merchant_id TEXT   NOT NULL PRIMARY KEY,
    position    BIGINT NOT NULL
);

CREATE TABLE events (
    merchant_id TEXT   NOT NULL,
    position    BIGINT NOT NULL,
    id          TEXT   NOT NULL,
    invoice_id  TEXT   NOT NULL REFERENCES invoices (id),
    type        TEXT   NOT NULL,
    version     BIGINT NOT NULL,
    created_at  BIGINT NOT NULL,
    body        TEXT   NOT NULL,
    PRIMARY KEY (merchant_id, position)
);

CREATE TABLE idempotency (
    merchant_id TEXT   NOT NULL,
    key         TEXT   NOT NULL,
    body_hash   TEXT   NOT NULL,
    invoice_id  TEXT,  -- NULL only within the transaction that makes the invoice
    created_at  BIGINT NOT NULL,
    PRIMARY KEY (merchant_id, key)
);
CREATE INDEX idempotency_by_age ON idempotency (created_at);

CREATE TABLE nonces (
    key        TEXT   NOT NULL,
    nonce      TEXT   NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (key, nonce)
);
CREATE INDEX nonces_by_age ON nonces (expires_at);

-- Who leads a network, and how far it was scanned.
CREATE TABLE networks (
    network          TEXT   NOT NULL PRIMARY KEY,
    epoch            BIGINT NOT NULL,
    holder           TEXT   NOT NULL,
    lease_until      BIGINT NOT NULL,
    sequence         BIGINT NOT NULL, -- of the last saved snapshot
    cursor_height    BIGINT NOT NULL,
    cursor_hash      TEXT   NOT NULL,
    tip_height       BIGINT NOT NULL,
    tip_hash         TEXT   NOT NULL,
    scanned_at       BIGINT,
    continuous_since BIGINT
);

CREATE TABLE simnet_blocks (
    height BIGINT NOT NULL PRIMARY KEY,
    hash   TEXT   NOT NULL,
    parent TEXT   NOT NULL,
    time   BIGINT NOT NULL
);

CREATE TABLE simnet_txs (
    id          TEXT   NOT NULL PRIMARY KEY,
    seen        BIGINT NOT NULL,
    height      BIGINT NOT NULL, -- -1 in the mempool
    replaced_by TEXT   NOT NULL,
    spends      TEXT   NOT NULL,
    outputs     TEXT   NOT NULL
);
CREATE INDEX simnet_txs_by_height ON simnet_txs (height);
