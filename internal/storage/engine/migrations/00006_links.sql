-- +goose Up

-- Checkout links of merchants.
CREATE TABLE links (
    slug          TEXT   NOT NULL PRIMARY KEY,
    merchant_id   TEXT   NOT NULL REFERENCES merchants (id),
    mode          TEXT   NOT NULL,
    amount        TEXT   NOT NULL, -- empty if the shopper enters it
    fiat_currency TEXT   NOT NULL,
    description   TEXT   NOT NULL,
    language      TEXT   NOT NULL,
    url_success   TEXT   NOT NULL,
    url_failure   TEXT   NOT NULL,
    created_at    BIGINT NOT NULL
);
CREATE INDEX links_of_merchant ON links (merchant_id, created_at);

-- The newest invoice of each order of a signed link.
CREATE TABLE link_orders (
    key_id     TEXT NOT NULL REFERENCES api_keys (id), -- the key that signed the link
    order_id   TEXT NOT NULL,
    invoice_id TEXT NOT NULL REFERENCES invoices (id),
    PRIMARY KEY (key_id, order_id)
);
