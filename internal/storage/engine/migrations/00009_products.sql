-- +goose Up

-- Products that merchants sell at /shop.
CREATE TABLE products (
    merchant_id   TEXT    NOT NULL REFERENCES merchants (id),
    slug          TEXT    NOT NULL,
    mode          TEXT    NOT NULL,
    name          TEXT    NOT NULL,
    description   TEXT    NOT NULL,
    price         BIGINT  NOT NULL, -- of one piece, in minor units
    fiat_currency TEXT    NOT NULL,
    max_quantity  BIGINT  NOT NULL, -- of an order; 0 = the limit of the server
    ask_order_id  TEXT    NOT NULL,
    ask_note      TEXT    NOT NULL,
    active        BOOLEAN NOT NULL,
    created_at    BIGINT  NOT NULL,
    PRIMARY KEY (merchant_id, slug)
);

-- Terminals, which create invoices at /pos. Only the SHA-256 of the secret in a terminal's URL is
-- stored.
CREATE TABLE terminals (
    secret_hash   TEXT   NOT NULL PRIMARY KEY,
    id            TEXT   NOT NULL UNIQUE,
    merchant_id   TEXT   NOT NULL REFERENCES merchants (id),
    mode          TEXT   NOT NULL,
    name          TEXT   NOT NULL,
    fiat_currency TEXT   NOT NULL,
    created_at    BIGINT NOT NULL
);
CREATE INDEX terminals_of_merchant ON terminals (merchant_id, created_at);
