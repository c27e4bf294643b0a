-- +goose Up

-- Whether the merchant asked for the delivery again: it then waits for no older event of
-- its invoice.
ALTER TABLE deliveries ADD COLUMN resent BOOLEAN NOT NULL DEFAULT FALSE;
