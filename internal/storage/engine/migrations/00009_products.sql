-- +goose Up

-- What merchants sell at /shop.
CREATE TABLE products (
    merchant_id   TEXT    NOT NULL REFERENCES merchants (id),
    slug          TEXT    NOT NULL,
    mode          TEXT    NOT NULL,
    name          TEXT    NOT NULL,
    description   TEXT    NOT NULL,
    price         BIGINT  NOT NULL, -- of one, in smallest units
    fiat_currency TEXT    NOT NULL,
    max_quantity  BIGINT  NOT NULL, -- of one order; 0 as many as the server takes
    ask_order_id  TEXT    NOT NULL,
    ask_note      TEXT    NOT NULL,
    active        BOOLEAN NOT NULL,
    created_at    BIGINT  NOT NULL,
    PRIMARY KEY (merchant_id, slug)
);

-- Phones at a counter that make invoices at /pos. The secret of their address is not
-- kept, only its SHA-256.
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
