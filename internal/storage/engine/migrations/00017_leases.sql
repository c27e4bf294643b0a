-- +goose Up

-- A lease is renewed by raising a counter, so that no clock decides how long it runs.
ALTER TABLE networks ADD COLUMN renewals BIGINT NOT NULL DEFAULT 0;
-- How far, in milliseconds, the holder's clock was ahead of the database's.
ALTER TABLE networks ADD COLUMN clock_skew BIGINT NOT NULL DEFAULT 0;
ALTER TABLE networks DROP COLUMN lease_until;
