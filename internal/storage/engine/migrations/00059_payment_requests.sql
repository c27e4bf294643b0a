-- +goose Up

-- The payment request of a destination of Lightning, which a provider made: its amount, the times of its making, of the end of
-- the quote and of its own end, its text, and the URL of its lookup. NULL for other destinations.
ALTER TABLE destinations ADD COLUMN request TEXT;
