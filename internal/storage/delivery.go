package storage

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"chequer/internal/audit"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/storage/engine"
	"chequer/internal/webhook"
)

// addDeliveries writes a delivery of each event for every endpoint that wants it, and of each message for every endpoint of
// a plug-in; last is the position of the last event. It is part of the transaction that writes the events. An endpoint
// whose list of events cannot be parsed gets every event. These deliveries wait until the row is repaired, and the change
// of the invoice does not fail.
func addDeliveries(ctx context.Context, q querier, recorded recordedEvents, last int64) error {
	if len(recorded.events) == 0 && len(recorded.messages) == 0 {
		return nil
	}
	endpoints, err := list(ctx, q, func(row scanner) (e merchant.Endpoint, err error) {
		var events string
		if err = row.Scan(&e.ID, &events, &e.Plugin); err != nil {
			return e, err
		}
		if e.Events, err = parseList[string](events); err != nil {
			e.Events = nil
		}
		return e, nil
	}, "SELECT id, events, plugin FROM endpoints WHERE merchant_id = $1 AND mode = $2 AND archived_at IS NULL", recorded.merchantID, string(recorded.mode))
	if err != nil {
		return fmt.Errorf("read endpoints: %w", err)
	}
	for i, e := range recorded.events {
		for _, endpoint := range endpoints {
			if endpoint.Plugin || !endpoint.Wants(string(e.Type)) {
				continue
			}
			position, at := last-int64(len(recorded.events)-1-i), e.CreatedAt.UnixMilli()
			_, err := q.ExecContext(ctx, `
				INSERT INTO deliveries (endpoint_id, position, event_id, type, invoice_id, state, tries, created_at, next_try_at)
				VALUES ($1, $2, $3, $4, $5, 'pending', 0, $6, $6)`,
				endpoint.ID, position, e.ID, string(e.Type), recorded.invoiceID, at)
			if err != nil {
				return fmt.Errorf("write delivery of %s: %w", e.Type, err)
			}
		}
	}
	return addMessages(ctx, q, recorded, endpoints)
}

// addMessages writes a delivery of each message for every endpoint of a plug-in that wants it. A message takes a position in
// the feed, although it is not part of the feed.
func addMessages(ctx context.Context, q querier, recorded recordedEvents, endpoints []merchant.Endpoint) error {
	endpoints = slices.DeleteFunc(endpoints, func(e merchant.Endpoint) bool { return !e.Plugin })
	if len(recorded.messages) == 0 || len(endpoints) == 0 {
		return nil
	}
	last, err := takePositions(ctx, q, recorded.merchantID, len(recorded.messages))
	if err != nil {
		return err
	}
	for i, m := range recorded.messages {
		for _, endpoint := range endpoints {
			if !endpoint.Wants(m.Type) {
				continue
			}
			_, err := q.ExecContext(ctx, `
				INSERT INTO deliveries (endpoint_id, position, event_id, type, invoice_id, body, state, tries, created_at, next_try_at)
				VALUES ($1, $2, $3, $4, $5, $6, 'pending', 0, $7, $7)`,
				endpoint.ID, last-int64(len(recorded.messages)-1-i), m.ID, m.Type, recorded.invoiceID, string(m.Body), m.CreatedAt.UnixMilli())
			if err != nil {
				return fmt.Errorf("write delivery of %s: %w", m.Type, err)
			}
		}
	}
	return nil
}

// AddTestDelivery implements merchant.EndpointStorage. The event takes a position in the feed,
// although it is not part of the feed.
func (s *Storage) AddTestDelivery(ctx context.Context, e merchant.Endpoint, eventID string, body []byte, at time.Time) error {
	return s.write(ctx, func(ctx context.Context, q querier) error {
		position, err := takePositions(ctx, q, e.MerchantID, 1)
		if err != nil {
			return err
		}
		_, err = q.ExecContext(ctx, `
			INSERT INTO deliveries (endpoint_id, position, event_id, type, invoice_id, body, state, tries, created_at, next_try_at)
			VALUES ($1, $2, $3, $4, '', $5, 'pending', 0, $6, $6)`,
			e.ID, position, eventID, merchant.EventTest, string(body), at.UnixMilli())
		if err != nil {
			return fmt.Errorf("write test delivery: %w", err)
		}
		return s.record(ctx, q, audit.Change{MerchantID: e.MerchantID, Action: "endpoint.tested", Subject: e.ID})
	})
}

// selectDelivery selects the columns that readDelivery reads.
const selectDelivery = `
	SELECT d.endpoint_id, d.position, d.event_id, d.type, d.invoice_id, d.state, d.tries, d.created_at,
		d.first_try_at, d.next_try_at, COALESCE(t.status, 0), COALESCE(t.fault, '')
	FROM deliveries d LEFT JOIN tries t ON t.endpoint_id = d.endpoint_id AND t.position = d.position AND t.number = d.tries`

// Deliveries implements merchant.EndpointStorage.
func (s *Storage) Deliveries(ctx context.Context, endpointID string, state merchant.DeliveryState, before int64, limit int) ([]merchant.Delivery, error) {
	page := deliveries(endpointID, state, before, limit)
	return s.deliveryList(ctx, "read deliveries", page)
}

// deliveryList returns the deliveries that a statement selects, each with the earlier one for which it waits. doing describes the
// call in errors.
func (s *Storage) deliveryList(ctx context.Context, doing string, page statement) ([]merchant.Delivery, error) {
	all, err := answer(ctx, s.snapshot, func(ctx context.Context, q querier) ([]merchant.Delivery, error) {
		all, err := list(ctx, q, readDelivery, page.text, page.args...)
		if err != nil {
			return nil, err
		}
		for i := range all {
			if err := s.addEarlier(ctx, q, &all[i]); err != nil {
				return nil, err
			}
		}
		return all, nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return all, nil
}

// addEarlier sets the earlier delivery for which a pending delivery waits, if there is one.
func (s *Storage) addEarlier(ctx context.Context, q querier, d *merchant.Delivery) error {
	if d.State != merchant.DeliveryPending || d.InvoiceID == "" {
		return nil
	}
	var nextAttemptAt int64
	err := q.QueryRowContext(ctx, earlierDelivery, d.EndpointID, d.Position, s.now().Add(-webhook.OrderingTime).UnixMilli(), d.InvoiceID).
		Scan(&d.Earlier.EventID, &d.Earlier.EventType, &nextAttemptAt)
	if engine.Absent(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read earlier delivery: %w", err)
	}
	d.Earlier.NextAttemptAt = utc(nextAttemptAt)
	return nil
}

// earlierDelivery is the statement of addEarlier. Of several earlier deliveries, the first is attempted next.
const earlierDelivery = `
	SELECT b.event_id, b.type, b.next_try_at
	FROM (SELECT resent FROM deliveries WHERE endpoint_id = $1 AND position = $2) d, deliveries b
	WHERE b.endpoint_id = $1 AND b.invoice_id = $4 AND b.position < $2 AND ` + delays + ` ORDER BY b.position LIMIT 1`

// deliveries returns the statement of Deliveries.
func deliveries(endpointID string, state merchant.DeliveryState, before int64, limit int) statement {
	where, args := conditions([]any{endpointID, before, limit}, filterIf(state != "", "d.state = ?", string(state)))
	return statement{selectDelivery + " WHERE d.endpoint_id = $1 AND d.position < $2" + where + " ORDER BY d.position DESC LIMIT $3", args}
}

// InvoiceDeliveries implements merchant.EndpointStorage.
func (s *Storage) InvoiceDeliveries(ctx context.Context, endpointID, invoiceID string, limit int) ([]merchant.Delivery, error) {
	return s.deliveryList(ctx, "read deliveries of an invoice", statement{invoiceDeliveries, []any{endpointID, invoiceID, limit}})
}

// invoiceDeliveries is the statement of InvoiceDeliveries.
const invoiceDeliveries = selectDelivery + " WHERE d.endpoint_id = $1 AND d.invoice_id = $2 ORDER BY d.position DESC LIMIT $3"

// Delivery implements merchant.EndpointStorage.
func (s *Storage) Delivery(ctx context.Context, endpointID, eventID string) (merchant.Delivery, []merchant.Attempt, error) {
	type found struct {
		delivery merchant.Delivery
		attempts []merchant.Attempt
	}
	f, err := answer(ctx, s.snapshot, func(ctx context.Context, q querier) (f found, err error) {
		position, err := findEvent(ctx, q, endpointID, eventID)
		if err != nil {
			return f, err
		}
		f.delivery, err = readDelivery(q.QueryRowContext(ctx, selectDelivery+" WHERE d.endpoint_id = $1 AND d.position = $2", endpointID, position))
		if err != nil {
			return f, merchantNotFound(err, "read delivery")
		}
		if err := s.addEarlier(ctx, q, &f.delivery); err != nil {
			return f, err
		}
		f.attempts, err = list(ctx, q, readAttempt, `
			SELECT number, at, duration, status, fault, header, answer FROM tries
			WHERE endpoint_id = $1 AND position = $2 ORDER BY number`, endpointID, f.delivery.Position)
		return f, err
	})
	return f.delivery, f.attempts, err
}

// Attempts lists the attempts of a merchant's deliveries that began at a time or later, oldest
// first, without the responses.
func (s *Storage) Attempts(ctx context.Context, merchantID string, since time.Time) ([]merchant.DeliveryAttempt, error) {
	attempts, err := answer(ctx, s.read, func(ctx context.Context, q querier) ([]merchant.DeliveryAttempt, error) {
		return list(ctx, q, readDeliveryAttempt, `
			SELECT d.endpoint_id, d.position, d.event_id, d.type, d.invoice_id, d.state, t.number, t.at, t.duration, t.status, t.fault
			FROM endpoints e
			JOIN tries t ON t.endpoint_id = e.id
			JOIN deliveries d ON d.endpoint_id = t.endpoint_id AND d.position = t.position
			WHERE e.merchant_id = $1 AND t.at >= $2 ORDER BY t.at, t.endpoint_id, t.position, t.number`,
			merchantID, since.UnixMilli())
	})
	if err != nil {
		return nil, fmt.Errorf("read attempts of %s: %w", merchantID, err)
	}
	return attempts, nil
}

func readDeliveryAttempt(row scanner) (a merchant.DeliveryAttempt, err error) {
	var state string
	var at, duration int64
	err = row.Scan(&a.EndpointID, &a.Position, &a.EventID, &a.EventType, &a.InvoiceID, &state, &a.Number, &at, &duration, &a.Status, &a.Fault)
	a.State, a.At, a.Duration = merchant.DeliveryState(state), utc(at), time.Duration(duration)*time.Millisecond
	return a, err
}

// Resend implements merchant.EndpointStorage. The event may have no delivery to the endpoint yet.
func (s *Storage) Resend(ctx context.Context, e merchant.Endpoint, eventID string, at time.Time) error {
	resent := audit.Change{MerchantID: e.MerchantID, Action: "endpoint.resent", Subject: e.ID, After: fields("event", eventID)}
	return s.write(ctx, func(ctx context.Context, q querier) error {
		position, err := findEvent(ctx, q, e.ID, eventID)
		if err != nil {
			return err
		}
		rescheduled, err := exec(ctx, q, rescheduleDelivery, e.ID, position, at.UnixMilli())
		if err != nil {
			return merchantNotFound(err, "send again")
		}
		if rescheduled > 0 {
			return s.record(ctx, q, resent)
		}
		if err := reschedule(ctx, q, e, position, at); err != nil {
			return err
		}
		return s.record(ctx, q, resent)
	})
}

// rescheduleDelivery schedules a delivery that exists.
const rescheduleDelivery = `
	UPDATE deliveries SET state = 'pending', first_try_at = NULL, next_try_at = $3, resent = TRUE
	WHERE endpoint_id = $1 AND position = $2`

// findEvent returns the position of an event that an endpoint may get: one of the merchant's feed,
// or a test event or a message of the endpoint. It returns merchant.ErrNotFound if there is none.
func findEvent(ctx context.Context, q querier, endpointID, eventID string) (position int64, err error) {
	err = q.QueryRowContext(ctx, eventPosition, endpointID, eventID).Scan(&position)
	if err != nil {
		return 0, merchantNotFound(err, "find event")
	}
	return position, nil
}

// eventPosition is the statement of findEvent. It reads few rows, since endpoints have few test events.
const eventPosition = `
	SELECT position FROM events e WHERE id = $2
		AND EXISTS (SELECT 1 FROM endpoints p WHERE p.id = $1 AND p.merchant_id = e.merchant_id AND p.mode = e.mode AND NOT p.plugin)
	UNION ALL
	SELECT position FROM deliveries WHERE endpoint_id = $1 AND body IS NOT NULL AND event_id = $2`

// ResendAfter implements merchant.EndpointStorage.
func (s *Storage) ResendAfter(ctx context.Context, e merchant.Endpoint, after int64, limit int, at time.Time) (sent int, next int64, err error) {
	type result struct {
		sent int
		next int64
	}
	r, err := answer(ctx, s.write, func(ctx context.Context, q querier) (r result, err error) {
		events, err := resendable(ctx, q, e, after, limit)
		if err != nil {
			return r, fmt.Errorf("read events: %w", err)
		}
		for _, event := range events {
			if !e.Wants(string(event.Type)) {
				continue
			}
			if err := reschedule(ctx, q, e, event.Position, at); err != nil {
				return r, err
			}
			r.sent++
		}
		if len(events) == limit {
			r.next = events[limit-1].Position
		}
		if r.sent == 0 {
			return r, nil
		}
		return r, s.record(ctx, q, audit.Change{
			MerchantID: e.MerchantID, Action: "endpoint.resent", Subject: e.ID, After: fields("after", strconv.FormatInt(after, 10), "events", number(r.sent)),
		})
	})
	return r.sent, r.next, err
}

// resendable returns the first limit events after a position that may be sent again to an endpoint: those of the feed or,
// for a plug-in, its messages.
func resendable(ctx context.Context, q querier, e merchant.Endpoint, after int64, limit int) ([]invoice.Event, error) {
	if e.Plugin {
		return list(ctx, q, func(row scanner) (m invoice.Event, err error) {
			err = row.Scan(&m.Position, &m.Type)
			return m, err
		}, "SELECT position, type FROM deliveries WHERE endpoint_id = $1 AND body IS NOT NULL AND position > $2 ORDER BY position LIMIT $3", e.ID, after, limit)
	}
	return list(ctx, q, readEvent, `
		SELECT position, id, type, version, created_at, body FROM events
		WHERE merchant_id = $1 AND mode = $2 AND position > $3 ORDER BY position LIMIT $4`,
		e.MerchantID, string(e.Mode), after, limit)
}

// reschedule schedules the event at a position for an endpoint like a new one, but without waiting
// for older events of its invoice.
func reschedule(ctx context.Context, q querier, e merchant.Endpoint, position int64, at time.Time) error {
	if e.Plugin {
		_, err := exec(ctx, q, rescheduleDelivery, e.ID, position, at.UnixMilli())
		return err
	}
	_, err := q.ExecContext(ctx, `
		INSERT INTO deliveries (endpoint_id, position, event_id, type, invoice_id, state, tries, created_at, next_try_at, resent)
		SELECT $1, position, id, type, COALESCE(invoice_id, ''), 'pending', 0, created_at, $4, TRUE FROM events WHERE merchant_id = $2 AND position = $3
		ON CONFLICT (endpoint_id, position) DO UPDATE SET
			state = 'pending', first_try_at = NULL, next_try_at = excluded.next_try_at, resent = TRUE`,
		e.ID, e.MerchantID, position, at.UnixMilli())
	if err != nil {
		return fmt.Errorf("send again: %w", err)
	}
	return nil
}

// RetryPending implements merchant.EndpointStorage. It locks the endpoint, so that two callers do not wait for each other.
func (s *Storage) RetryPending(ctx context.Context, e merchant.Endpoint, at, after time.Time, limit int) (int, error) {
	retried, err := answer(ctx, s.write, func(ctx context.Context, q querier) (int, error) {
		var id string
		if err := q.QueryRowContext(ctx, "SELECT id FROM endpoints WHERE id = $1"+s.engine.ForUpdate, e.ID).Scan(&id); err != nil {
			return 0, merchantNotFound(err, "lock endpoint")
		}
		n, err := exec(ctx, q, retryPending, e.ID, at.UnixMilli(), limit, after.UnixMilli())
		if err != nil || n == 0 {
			return 0, err
		}
		return int(n), s.record(ctx, q, audit.Change{MerchantID: e.MerchantID, Action: "endpoint.retried", Subject: e.ID, After: fields("events", number(int(n)))})
	})
	if err != nil {
		return 0, fmt.Errorf("retry deliveries of %s: %w", e.ID, err)
	}
	return retried, nil
}

const retryPending = `
	UPDATE deliveries SET next_try_at = $2 WHERE endpoint_id = $1 AND position IN (
		SELECT position FROM deliveries WHERE endpoint_id = $1 AND next_try_at > $4 ORDER BY next_try_at LIMIT $3)`

// EndpointHealth implements merchant.EndpointStorage.
func (s *Storage) EndpointHealth(ctx context.Context, endpointID string) (merchant.EndpointHealth, error) {
	health, err := answer(ctx, s.snapshot, func(ctx context.Context, q querier) (h merchant.EndpointHealth, err error) {
		err = q.QueryRowContext(ctx, deliveryCounts, endpointID, merchant.EventTest, merchant.MaxCounted).Scan(&h.Waiting, &h.Failed)
		if err != nil {
			return h, err
		}
		var at int64
		err = q.QueryRowContext(ctx, lastAttempt, endpointID).Scan(&at, &h.LastStatus, &h.LastFault)
		if engine.Absent(err) {
			return h, nil
		}
		h.LastAttemptAt = utc(at)
		return h, err
	})
	if err != nil {
		return health, fmt.Errorf("health of endpoint %s: %w", endpointID, err)
	}
	return health, nil
}

// deliveryCounts counts the pending and the failed deliveries of an endpoint, each up to a number.
const deliveryCounts = `
	SELECT
		(SELECT COUNT(*) FROM (SELECT 1 FROM deliveries WHERE endpoint_id = $1 AND state = 'pending' LIMIT $3) waiting),
		(SELECT COUNT(*) FROM (SELECT 1 FROM deliveries WHERE endpoint_id = $1 AND state = 'failed' AND type <> $2 LIMIT $3) failed)`

// lastAttempt reads the last attempt of an endpoint.
const lastAttempt = "SELECT at, status, fault FROM tries WHERE endpoint_id = $1 ORDER BY at DESC, position DESC, number DESC LIMIT 1"

func readDelivery(row scanner) (d merchant.Delivery, err error) {
	var createdAt int64
	var firstAttemptAt, nextAttemptAt sql.Null[int64]
	var state string
	err = row.Scan(&d.EndpointID, &d.Position, &d.EventID, &d.EventType, &d.InvoiceID, &state, &d.Attempts, &createdAt,
		&firstAttemptAt, &nextAttemptAt, &d.LastStatus, &d.LastFault)
	d.State, d.CreatedAt = merchant.DeliveryState(state), utc(createdAt)
	d.FirstAttemptAt, d.NextAttemptAt = fromMillis(firstAttemptAt), fromMillis(nextAttemptAt)
	return d, err
}

func readAttempt(row scanner) (t merchant.Attempt, err error) {
	var at, duration int64
	var header string
	if err = row.Scan(&t.Number, &at, &duration, &t.Status, &t.Fault, &header, &t.Answer); err != nil {
		return t, err
	}
	t.At, t.Duration = utc(at), time.Duration(duration)*time.Millisecond
	return t, json.Unmarshal([]byte(header), &t.Header)
}
