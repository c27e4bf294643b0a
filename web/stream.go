package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"chequer/internal/client"
	"chequer/views"
	"chequer/web/present"
)

const (
	// heartbeat keeps proxies from closing a silent stream.
	heartbeat = 20 * time.Second
	// streamLife is the longest life of a stream. The browser of an open page connects again.
	streamLife = 10 * time.Minute
	// writeWait is the time that a browser may take to accept an event.
	writeWait = 30 * time.Second
	// retry tells the browser how many milliseconds to wait before it connects again.
	retry = "retry: 3000\n\n"
)

// live sends the page's live part whenever it changes. If a limit of streams is reached, the answer is
// 204, after which a browser does not connect again and the page polls.
func (h *Handler) live(c echo.Context) error {
	id, err := invoiceID(c)
	if err != nil {
		return err
	}
	release, ok := h.streams.open(id, c.RealIP())
	if !ok {
		return c.NoContent(http.StatusNoContent)
	}
	defer release()
	ctx, cancel := h.untilClosed(c.Request().Context())
	defer cancel()
	snapshot, err := h.config.Client.Invoice(ctx, id)
	if err != nil {
		return fmt.Errorf("read invoice: %w", err)
	}
	s := newStream(c, h.frame(c, h.reader(c, snapshot.Resource.Language)))
	if s.shown == present.Version(snapshot) && present.Final(snapshot.Resource) {
		return c.NoContent(http.StatusNoContent)
	}
	if err := h.follow(ctx, s, snapshot); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// follow sends the invoice, and then every change of it until it is final.
func (h *Handler) follow(ctx context.Context, s *stream, snapshot client.Snapshot) error {
	if err := s.write(retry); err != nil {
		return err
	}
	for {
		final, err := h.send(ctx, s, snapshot)
		if err != nil || final {
			return err
		}
		next, err := h.await(ctx, snapshot)
		if err != nil {
			return err
		}
		snapshot = next
	}
}

// send sends the live part of a page, or a heartbeat if the browser shows this version already. It
// reports whether the invoice is final.
func (h *Handler) send(ctx context.Context, s *stream, snapshot client.Snapshot) (final bool, err error) {
	if present.Version(snapshot) == s.shown {
		return false, s.write(": still here\n\n")
	}
	page := h.livePage(ctx, s, snapshot)
	return page.Final, s.show(ctx, page)
}

// livePage returns the page of an invoice as it is now.
func (h *Handler) livePage(ctx context.Context, s *stream, snapshot client.Snapshot) views.Payment {
	f := s.frame
	f.Now = h.config.Now()
	return h.themed(ctx, f, snapshot.Theme).Payment(snapshot, "", false)
}

// await returns the invoice after its next change or a heartbeat. The expiry of the quote is a change
// too, although the service makes no new version for it.
func (h *Handler) await(ctx context.Context, snapshot client.Snapshot) (client.Snapshot, error) {
	id, asked := snapshot.Resource.ForeignID, time.Now()
	next, err := h.config.Client.WaitInvoice(ctx, id, snapshot.ETag, wait(snapshot.Resource.SecondsLeft))
	if errors.Is(err, client.ErrNotModified) {
		next, err = h.config.Client.Invoice(ctx, id) // SecondsLeft has changed
	}
	if err != nil {
		return next, fmt.Errorf("wait for invoice: %w", err)
	}
	if present.Version(next) == present.Version(snapshot) && time.Since(asked) < time.Second {
		return next, pause(ctx, time.Second) // limits the request rate if the service does not wait
	}
	return next, nil
}

// wait returns the time that one request waits: until the next heartbeat, or until the quote expires.
func wait(secondsLeft int64) time.Duration {
	left := time.Duration(secondsLeft) * time.Second
	if left <= 0 || left > heartbeat {
		return heartbeat
	}
	return left
}

// untilClosed returns a context that ends after streamLife, or when the handler is closed.
func (h *Handler) untilClosed(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, streamLife)
	go func() {
		select {
		case <-h.closed:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// stream is an event stream to one browser.
type stream struct {
	response *echo.Response
	control  *http.ResponseController
	shown    string // the version that the browser shows
	frame    present.Frame
}

// newStream returns a stream. The version that the browser shows is in the address that its page
// contains, or after an interruption in Last-Event-ID.
func newStream(c echo.Context, f present.Frame) *stream {
	f.Query = "" // the address of the stream is not that of the page
	shown := c.Request().Header.Get("Last-Event-ID")
	if shown == "" {
		shown = c.QueryParam("v")
	}
	header := c.Response().Header()
	dropPageHeaders(header, "text/event-stream")
	header.Set("Content-Type", "text/event-stream")
	header.Set("X-Accel-Buffering", "no")
	return &stream{frame: f, response: c.Response(), control: http.NewResponseController(c.Response()), shown: shown}
}

// show sends the live part of a page.
func (s *stream) show(ctx context.Context, page views.Payment) error {
	var b bytes.Buffer
	if err := templ.RenderFragments(ctx, &b, views.PaymentPage(page), "live"); err != nil {
		return fmt.Errorf("render live part: %w", err)
	}
	s.shown = page.Version
	return s.write("event: page\n" + field("id", page.Version) + field("data", strings.TrimSpace(b.String())) + "\n")
}

// field returns a field of an event, with a line for each line of its value. A carriage return ends a
// line of a stream as a line feed does. See HTML, "Parsing an event stream".
func field(name, value string) string {
	value = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(value)
	return name + ": " + strings.ReplaceAll(value, "\n", "\n"+name+": ") + "\n"
}

// write writes and flushes. The server's write deadline is for a whole response, so each event sets
// a new one.
func (s *stream) write(text string) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(writeWait)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("set deadline: %w", err)
	}
	if _, err := s.response.Write([]byte(text)); err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	if err := s.control.Flush(); err != nil {
		return fmt.Errorf("flush event: %w", err)
	}
	return nil
}
