-- +goose Up

-- Invoices that were created without an API key of the merchant and count towards the limits of
-- unpaid invoices, one row for each limit. The name of a group of callers is a MAC, so that no
-- address of a shopper is stored.
CREATE TABLE unpaid_places (
    merchant_id  TEXT   NOT NULL,
    mode         TEXT   NOT NULL,
    caller_group TEXT   NOT NULL, -- empty for all callers
    created_at   BIGINT NOT NULL,
    invoice_id   TEXT   NOT NULL REFERENCES invoices (id),
    PRIMARY KEY (merchant_id, mode, caller_group, created_at, invoice_id)
);
CREATE INDEX unpaid_places_by_age ON unpaid_places (created_at);
