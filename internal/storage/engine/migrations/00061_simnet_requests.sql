-- +goose Up

-- The payment requests of Lightning on simnet. The payment of one is a transaction of simnet with the same hash.
CREATE TABLE simnet_requests (
    hash     TEXT   NOT NULL PRIMARY KEY, -- payment hash
    satoshis BIGINT NOT NULL,
    ends_at  BIGINT NOT NULL,
    state    TEXT   NOT NULL -- open, cancelled or settled
);
CREATE INDEX simnet_requests_by_end ON simnet_requests (ends_at);
