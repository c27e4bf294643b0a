-- +goose Up
-- contested is true while a transfer is unconfirmed and the source of its network knows another transaction that spends the same outputs.
ALTER TABLE transfers ADD COLUMN contested BOOLEAN NOT NULL DEFAULT FALSE;
-- Transfers that are not sure are few, and wait for a decision.
CREATE INDEX transfers_unsure ON transfers (network) WHERE unsure AND presence = 'present';
