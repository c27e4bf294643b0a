-- +goose Up

-- The plans of sweeps, with the exact bytes of their files.
CREATE TABLE sweeps (
    id          TEXT   NOT NULL PRIMARY KEY,
    merchant_id TEXT   NOT NULL REFERENCES merchants (id),
    made_at     BIGINT NOT NULL,
    stopped_at  BIGINT NOT NULL, -- 0 if it was not stopped
    plan        TEXT   NOT NULL,
    mac         TEXT   NOT NULL
);
CREATE INDEX sweeps_by_time ON sweeps (merchant_id, made_at, id);

-- The states of the rows of a plan.
CREATE TABLE sweep_rows (
    sweep_id   TEXT   NOT NULL REFERENCES sweeps (id),
    number     BIGINT NOT NULL, -- within the plan, from 1
    state      TEXT   NOT NULL,
    tx         TEXT   NOT NULL, -- of the network; '' while it is planned
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (sweep_id, number)
);

-- The leases of the processes that send plans.
CREATE TABLE sweep_leases (
    name     TEXT   NOT NULL PRIMARY KEY, -- of a network and a merchant
    holder   TEXT   NOT NULL, -- '' if it is free
    renewals BIGINT NOT NULL
);
