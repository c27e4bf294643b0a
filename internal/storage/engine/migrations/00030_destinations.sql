-- +goose Up

-- A destination with the account whose balance is read, in one row, and in the order of the
-- scripts: the networks of one script are beside each other.
CREATE TABLE script_destinations (
    network       TEXT   NOT NULL,
    script        TEXT   NOT NULL,
    invoice_id    TEXT   NOT NULL REFERENCES invoices (id),
    merchant_id   TEXT   NOT NULL,
    address_index BIGINT NOT NULL,
    position      BIGINT NOT NULL,
    watch_until   BIGINT NOT NULL,
    born          BIGINT, -- position of the creation; NULL without an account
    birth_height  BIGINT, -- NULL without an account
    birth_hash    TEXT,   -- NULL without an account; may be packed
    PRIMARY KEY (script, network)
);
INSERT INTO script_destinations (network, script, invoice_id, merchant_id, address_index, position, watch_until, born, birth_height, birth_hash)
SELECT d.network, d.script, d.invoice_id, d.merchant_id, d.address_index, d.position, d.watch_until, a.born, a.birth_height, a.birth_hash
FROM destinations d LEFT JOIN accounts a ON a.network = d.network AND a.script = d.script;
DROP TABLE accounts;
DROP TABLE destinations;
ALTER TABLE script_destinations RENAME TO destinations;
-- The network comes last, so that the entries of a new invoice are beside each other.
CREATE INDEX destinations_by_position ON destinations (merchant_id, position, network);
