-- +goose Up

-- The removal of the metadata of shop plug-ins: the end of the UTC day, in Unix milliseconds, in which the retention period of the metadata begins at the earliest.
-- It is that of the creation of the invoice at first.
ALTER TABLE plugin_data ADD COLUMN kept_since BIGINT NOT NULL DEFAULT 0;

UPDATE plugin_data SET kept_since = (SELECT (i.created_at / 86400000 + 1) * 86400000 FROM invoices i WHERE i.id = plugin_data.invoice_id);

CREATE INDEX plugin_data_by_age ON plugin_data (kept_since, invoice_id) WHERE metadata <> '';
