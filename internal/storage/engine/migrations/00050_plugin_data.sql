-- +goose Up

-- What a shop plug-in keeps with an invoice.
CREATE TABLE plugin_data (
    invoice_id  TEXT PRIMARY KEY REFERENCES invoices (id),
    metadata    TEXT NOT NULL, -- JSON as the plug-in sent it; empty = none
    archived_at BIGINT         -- NULL = not archived
);
