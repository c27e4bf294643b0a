-- +goose Up

-- Destinations whose native coin is observed only by their balance. born is the position in the
-- feed, and the birth block is the network's tip, at which the invoice was created. A requote does
-- not change them.
CREATE TABLE accounts (
    network      TEXT   NOT NULL,
    script       TEXT   NOT NULL,
    born         BIGINT NOT NULL,
    birth_height BIGINT NOT NULL,
    birth_hash   TEXT   NOT NULL, -- empty if no tip was known
    PRIMARY KEY (network, script)
);

-- The last block at which all balances were read, and the positions of the feeds up to which
-- destinations had been loaded, as JSON; empty before the first reading.
ALTER TABLE networks ADD COLUMN balances TEXT NOT NULL DEFAULT '';

-- Whether the network cannot prove that the transfer is newer than its invoice.
ALTER TABLE transfers ADD COLUMN unsure BOOLEAN NOT NULL DEFAULT FALSE;
