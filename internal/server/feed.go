package server

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/invoice"
)

// Feed holds every event of a merchant, in the order of commits. It is safe for concurrent use.
type Feed interface {
	// Events returns the events of a mode after a position, at most limit.
	Events(ctx context.Context, merchantID string, mode invoice.Mode, after int64, limit int) ([]invoice.Event, error)
	// FeedPosition returns the position of the newest event, or 0 if there is none.
	FeedPosition(ctx context.Context, merchantID string) (int64, error)
}

const (
	// defaultEvents is the default number of events in an answer; maxEvents is the maximum.
	defaultEvents = 100
	maxEvents     = 500
	// maxEventBytes bounds the total size of the events in an answer, unless the answer has only one
	// event: an invoice with many payments has long events.
	maxEventBytes = 512 << 10
	// feedPollInterval is the interval at which a waiting call looks for new events.
	feedPollInterval = 500 * time.Millisecond
)

// readEvents handles GET events. It can wait for the next event.
func (s *server) readEvents(c echo.Context, k call) error {
	after, limit := int64(0), defaultEvents
	err := parseQuery(c.Request().URL.RawQuery, map[string]parameter{"after": position(&after), "limit": within(&limit, 0, maxEvents)})
	if err != nil {
		return err
	}
	if after == feedEnd {
		if after, err = s.Feed.FeedPosition(c.Request().Context(), k.key.MerchantID); err != nil {
			return err
		}
	}
	wait := preferredWait(c.Request().Header.Values("Prefer"))
	if wait > 0 {
		c.Response().Header().Set("Preference-Applied", "wait="+strconv.Itoa(int(wait.Seconds())))
	}
	events, err := s.eventsAfter(c.Request().Context(), k, after, limit, wait)
	if err != nil {
		return err
	}
	page := api.EventPage{Mode: string(k.key.Mode), Events: []json.RawMessage{}, Next: after}
	size := 0
	for _, e := range events {
		if size += len(e.Body); size > maxEventBytes && len(page.Events) > 0 {
			break
		}
		page.Events, page.Next = append(page.Events, e.Body), e.Position
	}
	return writeJSON(c, http.StatusOK, page)
}

// feedEnd is the result of position for "now": it means the position of the newest event.
const feedEnd = -1

// position parses a position to read from: a number, or "now", for which the target is feedEnd.
func position(target *int64) parameter {
	number := within(target, 0, math.MaxInt64)
	return func(value string) error {
		if value == "now" {
			*target = feedEnd
			return nil
		}
		return number(value)
	}
}

// eventsAfter reads the feed after a position. If there are no events, it waits for new events.
func (s *server) eventsAfter(ctx context.Context, k call, after int64, limit int, wait time.Duration) ([]invoice.Event, error) {
	deadline := time.After(wait)
	tick := time.NewTicker(feedPollInterval)
	defer tick.Stop()
	for {
		events, err := s.Feed.Events(ctx, k.key.MerchantID, invoice.Mode(k.key.Mode), after, limit)
		if err != nil || len(events) > 0 || wait == 0 {
			return events, err
		}
		select {
		case <-tick.C:
		case <-deadline:
			return nil, nil
		case <-s.Stopping:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
