-- +goose Up

-- For the last attempt of an endpoint, and its attempts since a time.
CREATE INDEX tries_in_time ON tries (endpoint_id, at);
-- For the oldest test deliveries. Their events are not in the feed.
CREATE INDEX deliveries_of_tests ON deliveries (endpoint_id, position) WHERE body IS NOT NULL;
