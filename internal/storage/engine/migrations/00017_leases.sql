-- +goose Up

-- A lease is renewed by increasing this counter, so that its duration does not depend on clocks.
ALTER TABLE networks ADD COLUMN renewals BIGINT NOT NULL DEFAULT 0;
-- The milliseconds by which the holder's clock was ahead of the database's.
ALTER TABLE networks ADD COLUMN clock_skew BIGINT NOT NULL DEFAULT 0;
ALTER TABLE networks DROP COLUMN lease_until;
