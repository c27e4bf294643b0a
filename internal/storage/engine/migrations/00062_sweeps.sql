-- +goose Up

-- The plans of sweeps, with the exact bytes of their files.
CREATE TABLE sweeps (
    id          TEXT   NOT NULL PRIMARY KEY,
    merchant_id TEXT   NOT NULL REFERENCES merchants (id),
    made_at     BIGINT NOT NULL,
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
