-- +goose Up

-- The keys of the API, of shoppers' pages, and of links, terminals and products are in separate
-- namespaces. Before, a prefix of the key separated them, and the storefront and the API had the
-- same prefix.
CREATE TABLE idempotency_keys (
    merchant_id TEXT   NOT NULL,
    namespace   TEXT   NOT NULL, -- "live/api"
    key         TEXT   NOT NULL,
    body_hash   TEXT   NOT NULL,
    invoice_id  TEXT,  -- NULL only within the transaction that creates the invoice
    created_at  BIGINT NOT NULL,
    PRIMARY KEY (merchant_id, namespace, key)
);
INSERT INTO idempotency_keys (merchant_id, namespace, key, body_hash, invoice_id, created_at)
SELECT merchant_id,
    CASE
        WHEN substr(key, 1, 5) = 'live:' THEN 'live/api'
        WHEN substr(key, 1, 5) = 'test:' THEN 'test/api'
        WHEN substr(key, 1, 10) = 'live-link:' THEN 'live/link'
        WHEN substr(key, 1, 10) = 'test-link:' THEN 'test/link'
        WHEN substr(key, 1, 8) = 'product:' THEN 'product'
        ELSE ''
    END,
    CASE
        WHEN substr(key, 1, 5) IN ('live:', 'test:') THEN substr(key, 6)
        WHEN substr(key, 1, 10) IN ('live-link:', 'test-link:') THEN substr(key, 11)
        WHEN substr(key, 1, 8) = 'product:' THEN substr(key, 9)
        ELSE key
    END,
    body_hash, invoice_id, created_at
FROM idempotency;
DROP TABLE idempotency;
ALTER TABLE idempotency_keys RENAME TO idempotency;
CREATE INDEX idempotency_by_age ON idempotency (created_at);
