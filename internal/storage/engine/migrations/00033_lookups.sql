-- +goose Up

-- For the event with an ID, which may be resent.
CREATE INDEX events_by_id ON events (id);

-- For all deliveries of an invoice, not only those that are pending.
DROP INDEX deliveries_in_order;
CREATE INDEX deliveries_in_order ON deliveries (endpoint_id, invoice_id, position);
