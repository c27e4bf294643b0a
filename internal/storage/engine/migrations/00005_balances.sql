-- +goose Up

-- Destinations that the network's own coin is expected at, where it is seen by
-- balances alone: the network's tip of when the invoice was made, and the position
-- in the feed of that, however often the destination is renewed.
CREATE TABLE accounts (
    network      TEXT   NOT NULL,
    script       TEXT   NOT NULL,
    born         BIGINT NOT NULL,
    birth_height BIGINT NOT NULL,
    birth_hash   TEXT   NOT NULL, -- empty when no tip was known
    PRIMARY KEY (network, script)
);

-- The last block at which all balances were read, and up to which positions of the
-- feeds destinations were loaded then, as JSON; empty before.
ALTER TABLE networks ADD COLUMN balances TEXT NOT NULL DEFAULT '';

-- The network cannot show that it is younger than its invoice.
ALTER TABLE transfers ADD COLUMN unsure BOOLEAN NOT NULL DEFAULT FALSE;
