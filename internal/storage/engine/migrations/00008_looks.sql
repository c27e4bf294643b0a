-- +goose Up

-- Themes of merchants. The newest one is in force. A few older ones are kept, because open pages
-- refer to them by hash.
CREATE TABLE looks (
    merchant_id TEXT    NOT NULL REFERENCES merchants (id),
    number      BIGINT  NOT NULL,
    hash        TEXT    NOT NULL, -- of all columns below; empty for the default theme
    name        TEXT    NOT NULL,
    accent      TEXT    NOT NULL,
    line        TEXT    NOT NULL,
    support     TEXT    NOT NULL,
    terms       TEXT    NOT NULL,
    stay        BOOLEAN NOT NULL,
    logo_type   TEXT    NOT NULL,
    logo        TEXT    NOT NULL, -- base64
    created_at  BIGINT  NOT NULL,
    PRIMARY KEY (merchant_id, number)
);
CREATE INDEX looks_by_hash ON looks (hash);
