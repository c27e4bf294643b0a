-- +goose Up

-- Whether the merchant resent the delivery. Such a delivery does not wait for older events of its
-- invoice.
ALTER TABLE deliveries ADD COLUMN resent BOOLEAN NOT NULL DEFAULT FALSE;
