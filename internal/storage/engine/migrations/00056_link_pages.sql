-- +goose Up

-- For a page of a merchant's links.
CREATE INDEX links_by_age ON links (merchant_id, mode, created_at, slug) WHERE removed_at IS NULL;
