-- +goose Up

-- An endpoint of a shop plug-in gets messages, each with a body of its own, instead of events. The row's MAC covers the
-- column if it is TRUE.
ALTER TABLE endpoints ADD COLUMN plugin BOOLEAN NOT NULL DEFAULT FALSE;

-- For one message of an endpoint, which is not in the feed.
CREATE INDEX deliveries_of_messages ON deliveries (endpoint_id, event_id) WHERE body IS NOT NULL;
