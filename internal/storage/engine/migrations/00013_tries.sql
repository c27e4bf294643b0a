-- +goose Up

-- The last try of an endpoint, and what happened since a moment.
CREATE INDEX tries_in_time ON tries (endpoint_id, at);
-- The oldest test deliveries, of which no event is in the feed.
CREATE INDEX deliveries_of_tests ON deliveries (endpoint_id, position) WHERE body IS NOT NULL;
