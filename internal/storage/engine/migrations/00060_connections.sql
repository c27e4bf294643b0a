-- +goose Up

-- For the connections to Lightning wallets and nodes: those that are active, and former ones with payment requests that are looked up.
CREATE INDEX wallets_connections ON wallets (created_at, id) WHERE mode = 'live' AND asset = 'BTC-LN';
CREATE INDEX destinations_lightning ON destinations (network, watch_until) WHERE substr(network, 1, 10) = 'lightning-';
