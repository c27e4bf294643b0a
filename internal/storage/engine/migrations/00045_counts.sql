-- +goose Up

-- The number of invoices of a link that are paid or can still be paid, so that a link with many uses is not
-- counted. It changes in the transaction that changes the status of such an invoice.
ALTER TABLE links ADD COLUMN uses BIGINT NOT NULL DEFAULT 0;
UPDATE links SET uses = (
    SELECT COUNT(*) FROM link_uses u JOIN invoices i ON i.id = u.invoice_id
    WHERE u.slug = links.slug AND i.status IN ('created', 'pending', 'paid'));

-- For the last attempt of an endpoint, and its attempts since a time. The position and the number order attempts of
-- the same time.
DROP INDEX tries_in_time;
CREATE INDEX tries_in_time ON tries (endpoint_id, at, position, number);
