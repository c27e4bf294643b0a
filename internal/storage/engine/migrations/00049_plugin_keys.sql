-- +goose Up

-- A key of a shop plug-in is a bearer token, of which only the hash is stored: such a row has no secret. The row's MAC
-- covers both columns unless both are empty, as in the row of a key that signs requests.
ALTER TABLE api_keys ADD COLUMN plugin TEXT NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN token_hash TEXT NOT NULL DEFAULT '';
