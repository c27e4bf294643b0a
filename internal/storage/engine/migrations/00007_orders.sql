-- +goose Up

-- All invoices of each order of a signed link, by number. If an earlier one is paid late, the link
-- leads to its receipt.
CREATE TABLE orders_of_links (
    key_id     TEXT   NOT NULL REFERENCES api_keys (id), -- the key that signed the link
    order_id   TEXT   NOT NULL,
    number     BIGINT NOT NULL,
    invoice_id TEXT   NOT NULL REFERENCES invoices (id),
    PRIMARY KEY (key_id, order_id, number)
);
INSERT INTO orders_of_links (key_id, order_id, number, invoice_id) SELECT key_id, order_id, 1, invoice_id FROM link_orders;
DROP TABLE link_orders;
ALTER TABLE orders_of_links RENAME TO link_orders;
