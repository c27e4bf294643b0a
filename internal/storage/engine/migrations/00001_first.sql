-- +goose Up

-- One schema for SQLite and PostgreSQL: TEXT, BIGINT and BOOLEAN. Times are Unix milliseconds;
-- NULL means no time. Fiat amounts are integers in minor units, which SQL may sum. Crypto amounts
-- are decimal text. Lists and frozen values are JSON.

CREATE TABLE meta (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);

-- A transaction that changes the simnet locks this row.
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
    mac         TEXT   NOT NULL  -- over all columns above
);
CREATE INDEX api_keys_of_merchant ON api_keys (merchant_id, created_at);

CREATE TABLE wallets (
    id          TEXT   NOT NULL PRIMARY KEY,
    merchant_id TEXT   NOT NULL REFERENCES merchants (id),
    mode        TEXT   NOT NULL,
    asset       TEXT   NOT NULL,
    key         TEXT   NOT NULL, -- public
    counter     TEXT   NOT NULL,
    secret      TEXT   NOT NULL, -- sealed; only test wallets have one
    created_at  BIGINT NOT NULL,
    archived_at BIGINT,
    mac         TEXT   NOT NULL  -- over all columns above
);
CREATE UNIQUE INDEX wallets_in_force ON wallets (merchant_id, mode, asset) WHERE archived_at IS NULL;

-- The next unused destination index of each key, for all merchants that have a wallet with it.
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
    overpaid      TEXT   NOT NULL, -- decimal, without an upper limit
    order_id      TEXT   NOT NULL,
    created_at    BIGINT NOT NULL,
    expires_at    BIGINT NOT NULL, -- end of the newest quote
    next_check_at BIGINT,
    paid_at       BIGINT,
    paid_tx       TEXT   NOT NULL,
    paid_asset    TEXT   NOT NULL,
    declined_at   BIGINT,
    delayed_at    BIGINT,
    accepted      TEXT   NOT NULL, -- IDs of the transfers that the merchant accepted as the full price
    refund        TEXT   NOT NULL,
    clock         BIGINT NOT NULL, -- milliseconds by which the invoice's clock is ahead, in test mode
    terms         TEXT   NOT NULL,
    methods       TEXT   NOT NULL,
    quotes        TEXT   NOT NULL,
    coverage      TEXT   NOT NULL
);
CREATE INDEX invoices_to_check ON invoices (next_check_at) WHERE next_check_at IS NOT NULL;

-- The evidence for the prices of quotes, once for all quotes that share it.
CREATE TABLE evidence (
    name TEXT NOT NULL PRIMARY KEY,
    body TEXT NOT NULL
);

-- One row for each script that watchers look for, until watch_until. Its position in the
-- merchant's feed is that of the event that set watch_until.
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
    block_height  BIGINT,           -- NULL while it is not in a block
    block_hash    TEXT    NOT NULL,
    block_time    BIGINT,
    confirmed_at  BIGINT,
    confirmations BIGINT  NOT NULL,
    required      BIGINT  NOT NULL,
    old           BOOLEAN NOT NULL,
    market        TEXT    NOT NULL, -- decimal fiat value; empty if unknown
    PRIMARY KEY (network, id),
    UNIQUE (invoice_id, number)
);
-- Scans read the unfinished transfers and those of the newest blocks.
CREATE INDEX transfers_unfinished ON transfers (network) WHERE presence = 'present' AND (block_height IS NULL OR confirmations < required);
CREATE INDEX transfers_finished ON transfers (network, block_height) WHERE presence = 'present' AND confirmations >= required;

-- The number of events in each merchant's feed. A transaction locks this row last, so that the
-- order of positions is the order of commits.
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
    invoice_id  TEXT,  -- NULL only within the transaction that creates the invoice
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

-- The process that leads each network, and the position up to which the network was scanned.
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
