-- +goose Up

-- When unconfirmed money was not watched, as JSON: one gap may lie within the
-- time of an invoice that a later one does not touch.
ALTER TABLE networks ADD COLUMN gaps TEXT NOT NULL DEFAULT '[]';
UPDATE networks SET gaps = '[{"from":0,"until":' || continuous_since || '}]' WHERE continuous_since > 0;
ALTER TABLE networks DROP COLUMN continuous_since;
