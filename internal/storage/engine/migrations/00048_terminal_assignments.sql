-- +goose Up

-- The terminals that sellers use. An account opens a terminal with its own secret, which ends with the row.
CREATE TABLE terminal_assignments (
    merchant_id TEXT   NOT NULL,
    terminal_id TEXT   NOT NULL REFERENCES terminals (id),
    account_id  TEXT   NOT NULL REFERENCES desk_accounts (id),
    secret      TEXT   NOT NULL, -- sealed
    secret_hash TEXT   NOT NULL UNIQUE,
    created_at  BIGINT NOT NULL,
    PRIMARY KEY (merchant_id, account_id, terminal_id)
);
CREATE INDEX terminal_assignments_of_terminal ON terminal_assignments (terminal_id);
CREATE INDEX terminal_assignments_of_account ON terminal_assignments (account_id);
