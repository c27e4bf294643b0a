-- +goose Up

-- An index for each filter of a list, in the order of the list.
CREATE INDEX invoices_by_status ON invoices (merchant_id, mode, status, created_at, id);
DROP INDEX invoices_by_order;
CREATE INDEX invoices_by_order ON invoices (merchant_id, mode, order_id, created_at, id) WHERE order_id <> '';
CREATE INDEX deliveries_by_state ON deliveries (endpoint_id, state, position);
CREATE INDEX events_by_type ON events (merchant_id, mode, type, position);

-- For invoices with sales, newest first. The ID orders invoices of the same time.
DROP INDEX conversions_by_age;
CREATE INDEX conversions_by_age ON conversions (merchant_id, created_at DESC, invoice_id);
CREATE INDEX conversions_by_state ON conversions (merchant_id, state, created_at DESC, invoice_id);
