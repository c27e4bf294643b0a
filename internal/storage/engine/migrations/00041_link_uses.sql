-- +goose Up

-- The number of invoices of a link that are paid or can still be paid, so that a link with many uses is not
-- counted. It changes in the transaction that changes the status of such an invoice.
ALTER TABLE links ADD COLUMN uses BIGINT NOT NULL DEFAULT 0;
UPDATE links SET uses = (
    SELECT COUNT(*) FROM link_uses u JOIN invoices i ON i.id = u.invoice_id
    WHERE u.slug = links.slug AND i.status IN ('created', 'pending', 'paid'));
