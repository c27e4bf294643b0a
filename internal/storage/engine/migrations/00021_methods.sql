-- +goose Up

-- The purpose of an API key, and the time of its last use. Neither grants a right, so neither is
-- covered by the MAC of the row.
ALTER TABLE api_keys ADD COLUMN label TEXT NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN used_at BIGINT;

-- The payment methods that are offered, in order, as codes separated by spaces. If they are empty,
-- a link, product or terminal has those of the merchant, and a merchant has all.
ALTER TABLE merchants ADD COLUMN methods TEXT NOT NULL DEFAULT '';
ALTER TABLE links ADD COLUMN methods TEXT NOT NULL DEFAULT '';
ALTER TABLE products ADD COLUMN methods TEXT NOT NULL DEFAULT '';
ALTER TABLE terminals ADD COLUMN methods TEXT NOT NULL DEFAULT '';

-- The end of a link, and the largest number of its invoices.
ALTER TABLE links ADD COLUMN ends_at BIGINT; -- NULL = no end
ALTER TABLE links ADD COLUMN max_uses BIGINT NOT NULL DEFAULT 0; -- 0 = no limit
CREATE TABLE link_uses (
    slug       TEXT NOT NULL REFERENCES links (slug),
    invoice_id TEXT NOT NULL REFERENCES invoices (id),
    PRIMARY KEY (slug, invoice_id)
);
