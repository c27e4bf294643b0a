-- +goose Up

-- Who gave the refund address: "shopper" on a payment page of this server, or the identifier of the API key of a
-- page. It is empty for addresses from before this column: those were the shopper's or an API key's.
ALTER TABLE invoices ADD COLUMN refund_by TEXT NOT NULL DEFAULT '';
UPDATE refunds SET address_by = '' WHERE address_by = 'shopper';

-- The shopper asked for a refund that the merchant has not answered, or gave the address for one that is ready.
ALTER TABLE invoices ADD COLUMN refund_asked BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE invoices SET refund_asked = TRUE WHERE id IN (SELECT invoice_id FROM refunds WHERE state = 'asked' AND asked_by = 'shopper')
    AND id IN (SELECT invoice_id FROM invoice_flags WHERE flag = 'decision');

ALTER TABLE refunds ADD COLUMN answered_at BIGINT;
-- The number of the newest quote if the invoice had ended when the merchant prepared the refund, otherwise 0.
ALTER TABLE refunds ADD COLUMN ended_quote BIGINT NOT NULL DEFAULT 0;
UPDATE refunds SET ended_quote = ( -- the quotes are a JSON list of objects with one member t each
    SELECT (LENGTH(quotes) - LENGTH(REPLACE(quotes, '"t":[', ''))) / 5 FROM invoices WHERE invoices.id = refunds.invoice_id
) WHERE invoice_id IN (SELECT id FROM invoices WHERE status IN ('expired', 'declined'));

-- The transactions of refunds. A transaction pays one refund to an address in an asset.
CREATE TABLE refund_transactions (
    merchant_id TEXT NOT NULL,
    network     TEXT NOT NULL,
    tx          TEXT NOT NULL,
    asset       TEXT NOT NULL,
    script      TEXT NOT NULL, -- of the address
    refund_id   TEXT NOT NULL UNIQUE,
    PRIMARY KEY (merchant_id, network, tx, asset, script)
);
INSERT INTO refund_transactions (merchant_id, network, tx, asset, script, refund_id)
SELECT merchant_id, network, tx, asset, script, MIN(id) FROM refunds WHERE tx <> ''
GROUP BY merchant_id, network, tx, asset, script;
