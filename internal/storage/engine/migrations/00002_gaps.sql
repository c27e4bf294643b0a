-- +goose Up

-- The periods in which unconfirmed transfers were not watched, as JSON. They are a list, since an
-- invoice may overlap an earlier period and not the last one.
ALTER TABLE networks ADD COLUMN gaps TEXT NOT NULL DEFAULT '[]';
UPDATE networks SET gaps = '[{"from":0,"until":' || continuous_since || '}]' WHERE continuous_since > 0;
ALTER TABLE networks DROP COLUMN continuous_since;
