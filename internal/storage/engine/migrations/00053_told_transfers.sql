-- +goose Up

-- Whether shop plug-ins were told that a transfer was received, and that it is confirmed.
ALTER TABLE transfers ADD COLUMN told_received BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE transfers ADD COLUMN told_confirmed BOOLEAN NOT NULL DEFAULT FALSE;
