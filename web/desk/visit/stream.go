package visit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"chequer/web/desk/changes"
)

const (
	// streamPath is the path of the stream of changes below a shop.
	streamPath = "/live"
	// streamLifetime is the longest life of a stream. A browser that still shows the page then connects again, and the
	// session and the role are checked again.
	streamLifetime = 10 * time.Minute
	// heartbeatInterval is the interval of the heartbeats, which keep proxies from closing a silent stream.
	heartbeatInterval = 20 * time.Second
	// streamWriteTimeout is the time that writing a message to a browser may take.
	streamWriteTimeout = 30 * time.Second
	// maxStreams limits the open streams of this process, and maxAccountStreams those of an account, which has one per
	// visible tab.
	maxStreams        = 500
	maxAccountStreams = 30
)

// openStreams counts the open streams. It is safe for concurrent use.
type openStreams struct {
	mu        sync.Mutex
	total     int
	byAccount map[string]int
}

// open counts a new stream of an account. It returns false if there are too many.
func (s *openStreams) open(accountID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.total >= maxStreams || s.byAccount[accountID] >= maxAccountStreams {
		return false
	}
	s.total++
	s.byAccount[accountID]++
	return true
}

// close counts the end of a stream.
func (s *openStreams) close(accountID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total--
	if s.byAccount[accountID]--; s.byAccount[accountID] == 0 {
		delete(s.byAccount, accountID)
	}
}

var streamRoutes = []Route{{Method: http.MethodGet, Path: "/desk/:shop" + streamPath, Needs: Member, Handle: (*Visit).stream}}

// isBackground reports whether an open page makes the request in order to update itself. Such a request does not
// prolong the session.
func (v *Visit) isBackground() bool {
	return v.Path() == v.BasePath+streamRoutes[0].Path || v.Request().Header.Get("Desk-Update") != ""
}

// FollowChanges makes the page update itself when the shop has changed. It must be called before the values of the page
// are read, so that no change is missed. Without JavaScript the page does not update itself. FollowChanges does nothing
// in an answer to a form, because such a page cannot be loaded again from its address.
func (v *Visit) FollowChanges() error {
	if !isSafe(v.Request()) {
		return nil
	}
	position, err := v.Changes.Position(v.Request().Context(), v.Shop.ID)
	if err != nil {
		return err
	}
	v.streamURL = v.Below(streamPath) + "?" + url.Values{"seen": {strconv.FormatInt(position, 10)}}.Encode()
	return nil
}

// stream sends a message whenever the shop has changed since the page was loaded. The number of the message is the
// position in the feed, which a browser sends again after an interruption.
func (v *Visit) stream() error {
	seen, err := strconv.ParseInt(cmp.Or(v.Request().Header.Get("Last-Event-ID"), v.QueryParam("seen")), 10, 64)
	if err != nil {
		return echo.ErrNotFound
	}
	if v.Request().Method == http.MethodHead {
		return v.NoContent(http.StatusOK)
	}
	if !v.streams.open(v.Account.ID) {
		return v.NoContent(http.StatusNoContent) // a browser does not connect again
	}
	defer v.streams.close(v.Account.ID)
	ctx, cancel := context.WithTimeout(v.Request().Context(), streamLifetime)
	defer cancel()
	header := v.Response().Header()
	header.Set(echo.HeaderContentType, "text/event-stream")
	header.Set("X-Accel-Buffering", "no")
	for message := ": open\n\n"; ; {
		if err := v.sendMessage(message); err != nil {
			return nil //nolint:nilerr // the browser has closed the connection
		}
		position, err := v.nextChange(ctx, seen)
		switch {
		case ctx.Err() != nil, errors.Is(err, changes.ErrClosed):
			return nil
		case err != nil: // no change until the next heartbeat
			message = ": beat\n\n"
		default:
			seen, message = position, fmt.Sprintf("id: %d\ndata: %d\n\n", position, position)
		}
	}
}

// nextChange waits for a change of the shop until the next heartbeat.
func (v *Visit) nextChange(ctx context.Context, seen int64) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, heartbeatInterval)
	defer cancel()
	return v.Changes.Wait(ctx, v.Shop.ID, seen)
}

// sendMessage writes a message of the stream and flushes it. The server's write deadline is for a whole response, so
// each message sets a new one.
func (v *Visit) sendMessage(text string) error {
	control := http.NewResponseController(v.Response())
	if err := control.SetWriteDeadline(time.Now().Add(streamWriteTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := v.Response().Write([]byte(text)); err != nil {
		return err
	}
	return control.Flush()
}
