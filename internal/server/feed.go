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

// Feed is every event of a merchant, in the order of commits. It is safe for
// concurrent use.
type Feed interface {
	// Events reads the events of a mode after a position, at most limit.
	Events(ctx context.Context, merchantID string, mode invoice.Mode, after int64, limit int) ([]invoice.Event, error)
	// FeedPosition is that of the newest event, 0 before there is one.
	FeedPosition(ctx context.Context, merchantID string) (int64, error)
}

const (
	// feedPage and mostEvents are how many events an answer has when the call does
	// not say, and at most.
	feedPage   = 100
	mostEvents = 500
	// mostBytes is how long the events of an answer are together at most, unless it
	// has one alone: an invoice that much was sent to has long ones.
	mostBytes = 512 << 10
	// feedTick is how often it is looked for an event that somebody waits for.
	feedTick = 500 * time.Millisecond
)

// readEvents is GET events, and the waiting for the next one.
func (s *server) readEvents(c echo.Context, k call) error {
	after, limit := int64(0), feedPage
	err := query(c.Request().URL.RawQuery, map[string]parameter{"after": position(&after), "limit": within(&limit, 0, mostEvents)})
	if err != nil {
		return err
	}
	if after == end {
		if after, err = s.feed.FeedPosition(c.Request().Context(), k.key.MerchantID); err != nil {
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
		if size += len(e.Body); size > mostBytes && len(page.Events) > 0 {
			break
		}
		page.Events, page.Next = append(page.Events, e.Body), e.Position
	}
	return writeJSON(c, http.StatusOK, page)
}

// end stands for the position where the feed ends now.
const end = -1

// position takes a position to read from: a number, or "now" for the end.
func position(into *int64) parameter {
	number := within(into, 0, math.MaxInt64)
	return func(value string) error {
		if value == "now" {
			*into = end
			return nil
		}
		return number(value)
	}
}

// eventsAfter reads the feed, and waits for a time while there is nothing.
func (s *server) eventsAfter(ctx context.Context, k call, after int64, limit int, wait time.Duration) ([]invoice.Event, error) {
	over := time.After(wait)
	tick := time.NewTicker(feedTick)
	defer tick.Stop()
	for {
		events, err := s.feed.Events(ctx, k.key.MerchantID, invoice.Mode(k.key.Mode), after, limit)
		if err != nil || len(events) > 0 || wait == 0 {
			return events, err
		}
		select {
		case <-tick.C:
		case <-over:
			return nil, nil
		case <-s.stopping:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
