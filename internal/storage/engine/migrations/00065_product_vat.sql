-- +goose Up

-- The VAT rate in percent that the price includes, such as 7.7; empty if none is stated. That of an invoice is the rate of its
-- product when the invoice was created.
ALTER TABLE products ADD COLUMN vat_rate TEXT NOT NULL DEFAULT '';
ALTER TABLE invoices ADD COLUMN vat_rate TEXT NOT NULL DEFAULT '';
