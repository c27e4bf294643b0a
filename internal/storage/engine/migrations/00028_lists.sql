-- +goose Up

-- Columns of lists, so that a list reads no JSON of an invoice. The program fills those of invoices
-- that were created before this migration, and then sets listed.
ALTER TABLE invoices ADD COLUMN listed BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE invoices ADD COLUMN description TEXT NOT NULL DEFAULT '';
ALTER TABLE invoices ADD COLUMN reference TEXT NOT NULL DEFAULT ''; -- entered by a shopper
ALTER TABLE invoices ADD COLUMN note TEXT NOT NULL DEFAULT ''; -- entered by a shopper
ALTER TABLE invoices ADD COLUMN disable_sale BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE invoices ADD COLUMN tolerance TEXT NOT NULL DEFAULT ''; -- decimal
ALTER TABLE invoices ADD COLUMN received TEXT NOT NULL DEFAULT ''; -- amounts, as JSON
ALTER TABLE invoices ADD COLUMN origin TEXT NOT NULL DEFAULT ''; -- kind of the source; empty if it is not known
ALTER TABLE invoices ADD COLUMN origin_id TEXT NOT NULL DEFAULT ''; -- slug, or identifier of a key or a terminal
UPDATE invoices SET origin = 'link', origin_id = (SELECT MIN(slug) FROM link_uses WHERE invoice_id = invoices.id)
WHERE id IN (SELECT invoice_id FROM link_uses);
UPDATE invoices SET origin = 'signed_link', origin_id = (SELECT MIN(key_id) FROM link_orders WHERE invoice_id = invoices.id)
WHERE id IN (SELECT invoice_id FROM link_orders);
CREATE INDEX invoices_to_list ON invoices (id) WHERE NOT listed;

-- One index for each filter of the list of invoices.
CREATE INDEX invoices_by_reference ON invoices (merchant_id, mode, reference, created_at, id) WHERE reference <> '';
CREATE INDEX invoices_by_price ON invoices (merchant_id, mode, price, created_at, id);
CREATE INDEX invoices_by_origin ON invoices (merchant_id, mode, origin, created_at, id);
CREATE INDEX invoices_by_source ON invoices (merchant_id, mode, origin_id, created_at, id) WHERE origin_id <> '' AND origin <> 'api';
CREATE INDEX invoices_by_paid_asset ON invoices (merchant_id, mode, paid_asset, created_at, id) WHERE paid_asset <> '';
CREATE INDEX transfers_by_tx ON transfers (tx) WHERE tx <> '';

-- The exceptions of an invoice, and 'decision' if it waits for a decision of the merchant.
CREATE TABLE invoice_flags (
    invoice_id  TEXT   NOT NULL REFERENCES invoices (id),
    flag        TEXT   NOT NULL,
    merchant_id TEXT   NOT NULL,
    mode        TEXT   NOT NULL,
    status      TEXT   NOT NULL, -- of the invoice
    created_at  BIGINT NOT NULL, -- of the invoice
    PRIMARY KEY (invoice_id, flag)
);
INSERT INTO invoice_flags (invoice_id, flag, merchant_id, mode, status, created_at)
SELECT i.id, f.flag, i.merchant_id, i.mode, i.status, i.created_at
FROM invoices i JOIN (
    SELECT 'underpaid' AS flag UNION ALL SELECT 'overpaid' UNION ALL SELECT 'late' UNION ALL SELECT 'replaced' UNION ALL
    SELECT 'reorged' UNION ALL SELECT 'wrong_asset' UNION ALL SELECT 'old' UNION ALL SELECT 'delayed'
) f ON i.exceptions LIKE '%"' || f.flag || '"%'
WHERE i.exceptions <> '';
INSERT INTO invoice_flags (invoice_id, flag, merchant_id, mode, status, created_at)
SELECT id, 'decision', merchant_id, mode, status, created_at
FROM invoices
WHERE exceptions <> '' AND (
    exceptions LIKE '%"overpaid"%' OR exceptions LIKE '%"wrong_asset"%' OR
    accepted = '' AND (
        exceptions LIKE '%"late"%' OR exceptions LIKE '%"old"%' OR
        exceptions LIKE '%"underpaid"%' AND status IN ('expired', 'declined')));
CREATE INDEX invoice_flags_by_age ON invoice_flags (merchant_id, mode, flag, created_at, invoice_id);
CREATE INDEX invoice_flags_by_status ON invoice_flags (merchant_id, mode, flag, status, created_at, invoice_id);

-- The numbers of invoices with a final status, with an empty flag, and of flags by status. Open
-- invoices are counted by an index, so that a creation writes no row that others wait for.
CREATE TABLE tallies (
    merchant_id TEXT   NOT NULL,
    mode        TEXT   NOT NULL,
    status      TEXT   NOT NULL,
    flag        TEXT   NOT NULL,
    count       BIGINT NOT NULL,
    PRIMARY KEY (merchant_id, mode, status, flag)
);
INSERT INTO tallies (merchant_id, mode, status, flag, count)
SELECT merchant_id, mode, status, '', COUNT(*) FROM invoices WHERE status IN ('paid', 'expired', 'declined') GROUP BY merchant_id, mode, status;
INSERT INTO tallies (merchant_id, mode, status, flag, count)
SELECT merchant_id, mode, status, flag, COUNT(*) FROM invoice_flags GROUP BY merchant_id, mode, status, flag;
