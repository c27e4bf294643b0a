-- +goose Up

-- The URLs to which a merchant's events are sent.
CREATE TABLE endpoints (
    id          TEXT    NOT NULL PRIMARY KEY,
    merchant_id TEXT    NOT NULL REFERENCES merchants (id),
    mode        TEXT    NOT NULL,
    url         TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    secret      TEXT    NOT NULL, -- sealed
    next_key    TEXT    NOT NULL, -- empty except during a rotation of the pair
    next_secret TEXT    NOT NULL, -- sealed
    events      TEXT    NOT NULL, -- types; empty for all
    paused      BOOLEAN NOT NULL,
    created_at  BIGINT  NOT NULL,
    archived_at BIGINT,
    mac         TEXT    NOT NULL  -- over all columns above
);
CREATE INDEX endpoints_in_force ON endpoints (merchant_id) WHERE archived_at IS NULL;

-- The delivery of an event to an endpoint. While a process attempts it, it becomes due again only
-- after the time in which the attempt must have ended.
CREATE TABLE deliveries (
    endpoint_id  TEXT   NOT NULL REFERENCES endpoints (id),
    position     BIGINT NOT NULL, -- of the event in the merchant's feed
    event_id     TEXT   NOT NULL,
    type         TEXT   NOT NULL,
    invoice_id   TEXT   NOT NULL, -- empty for a test event
    body         TEXT,            -- only of a test event; the body of any other event is in the feed
    state        TEXT   NOT NULL,
    tries        BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    first_try_at BIGINT,          -- since the delivery was created, or resent by the merchant
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
    status      BIGINT NOT NULL, -- HTTP status; 0 without an answer
    fault       TEXT   NOT NULL,
    header      TEXT   NOT NULL,
    answer      TEXT   NOT NULL, -- the beginning of the body
    PRIMARY KEY (endpoint_id, position, number)
);

-- An API key reads only the events of its mode.
ALTER TABLE events ADD COLUMN mode TEXT NOT NULL DEFAULT '';
UPDATE events SET mode = (SELECT mode FROM invoices WHERE invoices.id = events.invoice_id);
CREATE INDEX events_by_mode ON events (merchant_id, mode, position);
