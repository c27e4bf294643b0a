-- +goose Up

-- The outpoints that a transaction spends, as JSON, stored once for all its transfers.
CREATE TABLE spends (
    network   TEXT NOT NULL,
    tx        TEXT NOT NULL,
    outpoints TEXT NOT NULL,
    PRIMARY KEY (network, tx)
);
INSERT INTO spends (network, tx, outpoints)
    SELECT network, tx, MAX(spends) FROM transfers WHERE tx <> '' AND spends <> '' GROUP BY network, tx;
UPDATE transfers SET spends = '' WHERE tx <> '' AND spends <> '';
