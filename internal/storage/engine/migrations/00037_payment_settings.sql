-- +goose Up

-- The payment settings that a merchant has chosen, as a JSON object of texts by name. The default holds for a name
-- that is absent.
ALTER TABLE merchants ADD COLUMN settings TEXT NOT NULL DEFAULT '{}';
UPDATE merchants SET settings = '{"payment_methods":"' || methods || '"}' WHERE methods <> '';
ALTER TABLE merchants DROP COLUMN methods;
