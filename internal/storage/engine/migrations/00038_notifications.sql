-- +goose Up

-- What accounts of the desk are informed of, and where.
CREATE TABLE notification_settings (
    account_id TEXT   PRIMARY KEY,
    settings   TEXT   NOT NULL, -- sealed JSON: addresses, time zone, quiet hours
    summarised BIGINT NOT NULL  -- day of the last summary by the account's clock, in days since 1 January 1970
);
CREATE TABLE notification_choices (
    merchant_id TEXT NOT NULL,
    account_id  TEXT NOT NULL,
    kind        TEXT NOT NULL,
    channel     TEXT NOT NULL,
    PRIMARY KEY (merchant_id, account_id, kind, channel)
);

-- The position in the feed of a shop up to which events were reported.
CREATE TABLE notification_cursors (
    merchant_id TEXT   PRIMARY KEY,
    position    BIGINT NOT NULL
);

-- The state in which an invoice that needs attention was reported last.
CREATE TABLE notified_cases (
    invoice_id TEXT   PRIMARY KEY,
    state      TEXT   NOT NULL,
    notified_at    BIGINT NOT NULL
);
CREATE INDEX notified_cases_by_age ON notified_cases (notified_at);

-- Present faults and those that were reported lately.
CREATE TABLE notified_faults (
    merchant_id TEXT    NOT NULL, -- '' if the fault is about the server
    fault       TEXT    NOT NULL,
    since       BIGINT  NOT NULL,
    present     BOOLEAN NOT NULL,
    notified_at     BIGINT  NOT NULL, -- 0 if it was never reported
    PRIMARY KEY (merchant_id, fault)
);

-- The outbox.
CREATE TABLE messages (
    id           TEXT   PRIMARY KEY,
    account_id   TEXT   NOT NULL,
    channel      TEXT   NOT NULL,
    kind         TEXT   NOT NULL,
    due_at       BIGINT NOT NULL,
    items        TEXT   NOT NULL, -- JSON
    more         BIGINT NOT NULL, -- number of items that are only counted
    state        TEXT   NOT NULL,
    tries        BIGINT NOT NULL,
    fault        TEXT   NOT NULL, -- of the last attempt
    created_at   BIGINT NOT NULL,
    first_try_at BIGINT,
    next_try_at  BIGINT,          -- NULL unless pending
    UNIQUE (account_id, channel, kind, due_at)
);
CREATE INDEX messages_due ON messages (channel, next_try_at) WHERE next_try_at IS NOT NULL;
CREATE INDEX messages_of_account ON messages (account_id, created_at);
CREATE INDEX messages_by_state ON messages (state, created_at);
