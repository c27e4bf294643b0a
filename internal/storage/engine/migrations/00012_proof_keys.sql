-- +goose Up

-- The keys of this installation that sign what its addresses are. The highest
-- number signs; the others only check.
CREATE TABLE proof_keys (
    number     BIGINT NOT NULL PRIMARY KEY,
    public     TEXT   NOT NULL,
    secret     TEXT   NOT NULL, -- sealed; empty once it is retired
    created_at BIGINT NOT NULL,
    retired_at BIGINT,
    mac        TEXT   NOT NULL
);
