-- +goose Up

-- Accounts of the desk. The table accounts holds addresses of networks whose balance is read.
CREATE TABLE desk_accounts (
    id         TEXT   PRIMARY KEY,
    name       TEXT   NOT NULL,
    name_key   TEXT   NOT NULL UNIQUE, -- form in which names are compared
    roles      TEXT   NOT NULL,        -- JSON: role by merchant
    sign_in    TEXT   NOT NULL,        -- sealed JSON: passkeys, password, recovery codes
    created_at BIGINT NOT NULL,
    mac        TEXT   NOT NULL
);

-- Links that are used once: of the first run, invitations and recovery.
CREATE TABLE desk_tickets (
    token_hash TEXT   PRIMARY KEY,
    id         TEXT   NOT NULL UNIQUE,
    kind       TEXT   NOT NULL,
    account_id TEXT   NOT NULL, -- of a recovery
    roles      TEXT   NOT NULL,
    created_by TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    mac        TEXT   NOT NULL
);

CREATE TABLE desk_sessions (
    token_hash    TEXT   PRIMARY KEY,
    account_id    TEXT   NOT NULL REFERENCES desk_accounts (id),
    method        TEXT   NOT NULL,
    address       TEXT   NOT NULL,
    browser       TEXT   NOT NULL,
    created_at    BIGINT NOT NULL,
    used_at       BIGINT NOT NULL,
    stepped_up_at BIGINT,
    mac           TEXT   NOT NULL -- of all columns but used_at
);
CREATE INDEX desk_sessions_by_account ON desk_sessions (account_id, used_at);

-- Failed sign-ins by name or network address.
CREATE TABLE sign_in_attempts (
    subject        TEXT   PRIMARY KEY,
    failures       BIGINT NOT NULL,
    since          BIGINT,
    last_at        BIGINT,
    disabled_until BIGINT
);

-- The audit log: a chain of entries, and its end.
CREATE TABLE audit_log (
    number      BIGINT  PRIMARY KEY,
    at          BIGINT  NOT NULL,
    actor_kind  TEXT    NOT NULL,
    actor_id    TEXT    NOT NULL,
    actor_name  TEXT    NOT NULL,
    address     TEXT    NOT NULL,
    stepped_up  BOOLEAN NOT NULL,
    merchant_id TEXT    NOT NULL, -- '' if the change is about the server
    action      TEXT    NOT NULL,
    subject     TEXT    NOT NULL,
    old_values  TEXT    NOT NULL, -- JSON
    new_values  TEXT    NOT NULL, -- JSON
    mac         TEXT    NOT NULL  -- of the entry and of the mac before it
);
CREATE TABLE audit_head (
    id     BIGINT PRIMARY KEY, -- 1
    number BIGINT NOT NULL,
    mac    TEXT   NOT NULL
);
