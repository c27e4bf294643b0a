-- +goose Up

-- The keys with which this installation signs proofs of its addresses. The key with the highest
-- number signs. The others only verify.
CREATE TABLE proof_keys (
    number     BIGINT NOT NULL PRIMARY KEY,
    public     TEXT   NOT NULL,
    secret     TEXT   NOT NULL, -- sealed; empty after the key was retired
    created_at BIGINT NOT NULL,
    retired_at BIGINT,
    mac        TEXT   NOT NULL
);
