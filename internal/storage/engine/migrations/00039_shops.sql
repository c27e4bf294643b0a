-- +goose Up

-- Finds the shop that has or had a wallet with a public key.
CREATE INDEX wallets_of_key ON wallets (counter, merchant_id);
