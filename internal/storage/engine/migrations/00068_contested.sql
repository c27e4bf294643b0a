-- +goose Up
-- contested is true while a transfer is unconfirmed and the source of its network knows another transaction that spends the same outputs.
ALTER TABLE transfers ADD COLUMN contested BOOLEAN NOT NULL DEFAULT FALSE;
