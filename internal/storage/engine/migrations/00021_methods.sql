-- +goose Up

-- What an API key is for, and when it was last used. Neither is a right, so neither is
-- part of the row's code.
ALTER TABLE api_keys ADD COLUMN label TEXT NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN used_at BIGINT;

-- Payment methods that are offered, in their order, as codes with a space between them;
-- empty: those of the merchant, and there all.
ALTER TABLE merchants ADD COLUMN methods TEXT NOT NULL DEFAULT '';
ALTER TABLE links ADD COLUMN methods TEXT NOT NULL DEFAULT '';
ALTER TABLE products ADD COLUMN methods TEXT NOT NULL DEFAULT '';
ALTER TABLE terminals ADD COLUMN methods TEXT NOT NULL DEFAULT '';

-- The end of a link, and how many invoices it makes.
ALTER TABLE links ADD COLUMN ends_at BIGINT; -- NULL never
ALTER TABLE links ADD COLUMN max_uses BIGINT NOT NULL DEFAULT 0; -- 0 any number
CREATE TABLE link_uses (
    slug       TEXT NOT NULL REFERENCES links (slug),
    invoice_id TEXT NOT NULL REFERENCES invoices (id),
    PRIMARY KEY (slug, invoice_id)
);
