-- +goose Up

-- Parts of the terms that many invoices share: the assets of the methods and the rules of
-- the merchant. The name is the hash of the text.
CREATE TABLE shared_terms (
    name TEXT NOT NULL PRIMARY KEY,
    body TEXT NOT NULL
);
ALTER TABLE invoices ADD COLUMN shared_terms TEXT REFERENCES shared_terms (name); -- NULL in invoices with the whole terms in their row
