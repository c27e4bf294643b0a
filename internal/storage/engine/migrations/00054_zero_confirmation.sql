-- +goose Up

-- Whether the network's source has shown an unconfirmed transfer as firm, and whether the transfer counts without a
-- confirmation.
ALTER TABLE transfers ADD COLUMN firm BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE transfers ADD COLUMN instant BOOLEAN NOT NULL DEFAULT FALSE;
