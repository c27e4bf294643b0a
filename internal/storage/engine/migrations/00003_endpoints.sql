-- +goose Up

-- Where a merchant's events are sent.
CREATE TABLE endpoints (
    id          TEXT    NOT NULL PRIMARY KEY,
    merchant_id TEXT    NOT NULL REFERENCES merchants (id),
    mode        TEXT    NOT NULL,
    url         TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    secret      TEXT    NOT NULL, -- sealed
    next_key    TEXT    NOT NULL, -- empty unless the pair is being rotated
    next_secret TEXT    NOT NULL, -- sealed
    events      TEXT    NOT NULL, -- types, empty for all
    paused      BOOLEAN NOT NULL,
    created_at  BIGINT  NOT NULL,
    archived_at BIGINT,
    mac         TEXT    NOT NULL  -- over all of the above
);
CREATE INDEX endpoints_in_force ON endpoints (merchant_id) WHERE archived_at IS NULL;

-- The sending of an event to an endpoint. One that is being tried is due again
-- only when who tries it must be gone.
CREATE TABLE deliveries (
    endpoint_id  TEXT   NOT NULL REFERENCES endpoints (id),
    position     BIGINT NOT NULL, -- of the event in the merchant's feed
    event_id     TEXT   NOT NULL,
    type         TEXT   NOT NULL,
    invoice_id   TEXT   NOT NULL, -- empty of a test event
    body         TEXT,            -- of a test event; others have theirs in the feed
    state        TEXT   NOT NULL,
    tries        BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    first_try_at BIGINT,          -- since it was made, or sent again by hand
    next_try_at  BIGINT,          -- NULL unless pending
    PRIMARY KEY (endpoint_id, position)
);
CREATE INDEX deliveries_due ON deliveries (endpoint_id, next_try_at) WHERE next_try_at IS NOT NULL;
CREATE INDEX deliveries_in_order ON deliveries (endpoint_id, invoice_id, position) WHERE next_try_at IS NOT NULL;

CREATE TABLE tries (
    endpoint_id TEXT   NOT NULL,
    position    BIGINT NOT NULL,
    number      BIGINT NOT NULL,
    at          BIGINT NOT NULL,
    duration    BIGINT NOT NULL, -- milliseconds
    status      BIGINT NOT NULL, -- 0 without an answer
    fault       TEXT   NOT NULL,
    header      TEXT   NOT NULL,
    answer      TEXT   NOT NULL, -- the beginning of the body
    PRIMARY KEY (endpoint_id, position, number)
);

-- A key reads the events of its mode alone.
ALTER TABLE events ADD COLUMN mode TEXT NOT NULL DEFAULT '';
UPDATE events SET mode = (SELECT mode FROM invoices WHERE invoices.id = events.invoice_id);
CREATE INDEX events_by_mode ON events (merchant_id, mode, position);
