package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"chequer/internal/api"
)

// FromNow is the position of the current end of the feed.
const FromNow int64 = -1

// eventPage is the maximum number of events in an answer.
const eventPage = 100

// Events returns the events after a position of the feed. If there are none, it waits for new events,
// at most MaxWait. It returns ErrUnsupported if the service has no feed, and an *Error if the call
// is refused.
func (c *Client) Events(ctx context.Context, after int64, wait time.Duration) (api.EventPage, error) {
	query := url.Values{"after": {strconv.FormatInt(after, 10)}, "limit": {strconv.Itoa(eventPage)}}
	if after == FromNow {
		query.Set("after", "now")
	}
	r := request{method: http.MethodGet, path: api.PathEvents + "?" + query.Encode(), chequerScheme: true, header: map[string]string{}}
	r.waitFor(wait)
	a, err := c.do(ctx, r)
	if err != nil {
		return api.EventPage{}, wrap("read events", err)
	}
	var page api.EventPage
	switch {
	case a.status == http.StatusOK && json.Unmarshal(a.body, &page) == nil && page.Events != nil:
		if len(page.Events) > eventPage || page.Next < max(after, 0) {
			return api.EventPage{}, wrap("read events", ErrInvalidAnswer)
		}
		return page, nil
	case errors.Is(c.refusal(a), ErrUnsupported):
		return api.EventPage{}, wrap("read events", ErrUnsupported)
	}
	return api.EventPage{}, wrap("read events", a.failure())
}
