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
	// streamLifetime is the longest life of a stream. The browser of an open page connects again, which checks the
	// session and the role again.
	streamLifetime = 10 * time.Minute
	// heartbeat is the interval of the heartbeats, which keep proxies from closing a silent stream.
	heartbeat = 20 * time.Second
	// streamWriteTimeout is the time that a browser may take to accept a message.
	streamWriteTimeout = 30 * time.Second
	// maxStreams bounds the streams of this process, and maxAccountStreams those of an account: one per open tab.
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

// isBackground reports whether an open page makes the request to update itself.
func (v *Visit) isBackground() bool {
	return v.Path() == v.BasePath+streamRoutes[0].Path || v.Request().Header.Get("Desk-Update") != ""
}

// Live makes the page update itself when the shop has changed. It is called before the page's data are read, so that no
// change is missed. Without JavaScript the page stays as it is. So does the answer to a form, because it has no address
// from which it could be loaded again.
func (v *Visit) Live() error {
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
			return nil //nolint:nilerr // the browser has left
		}
		position, err := v.nextChange(ctx, seen)
		switch {
		case ctx.Err() != nil, errors.Is(err, changes.ErrClosed):
			return nil
		case err != nil:
			message = ": beat\n\n"
		default:
			seen, message = position, fmt.Sprintf("id: %d\ndata: %d\n\n", position, position)
		}
	}
}

// nextChange waits for a change of the shop until the next heartbeat.
func (v *Visit) nextChange(ctx context.Context, seen int64) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, heartbeat)
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
