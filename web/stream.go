package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"chequer/web/live"
)

// streamPath matches the path of an invoice's stream, below the base path.
var streamPath = regexp.MustCompile(`^/invoice/([A-Za-z0-9_-]{1,64})/live$`)

// streamID returns the identifier of the invoice whose stream a request asks for.
func (h *Handler) streamID(r *http.Request) (id string, ok bool) {
	if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/live") {
		return "", false
	}
	path, relative := strings.CutPrefix(r.URL.Path, h.config.BasePath)
	found := streamPath.FindStringSubmatch(path)
	if !relative || found == nil {
		return "", false
	}
	return found[1], true
}

// serveStream sends the live part of an invoice's page whenever it changes. If a limit of streams is reached, or
// the browser shows the final page, the answer is 204, after which a browser does not connect again.
//
// ServeHTTP calls it without the middleware of pages, because the middleware would wrap the connection.
func (h *Handler) serveStream(w http.ResponseWriter, r *http.Request, id string) {
	request := h.liveRequest(r)
	viewer, ok := h.hub.Join(id, request)
	if !ok {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	text, last, err := viewer.Next(r.Context())
	if err != nil {
		viewer.Leave()
		h.refuseStream(w, r, err)
		return
	}
	s := newStream(w, request.Gzip)
	// A hijacked connection needs neither the buffers of the server nor the stacks of its goroutines, which are
	// many times larger than the rest of a stream.
	if conn, _, err := s.control.Hijack(); err == nil {
		viewer.Serve(conn, text, last)
		return
	}
	defer viewer.Leave()
	s.follow(r.Context(), viewer, text, last)
}

// refuseStream answers with the status of an error, without a body, because browsers do not show the body of a
// refused stream.
func (h *Handler) refuseStream(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return
	}
	status := statusOf(err)
	switch {
	case errors.Is(err, live.ErrShown):
		status = http.StatusNoContent
	case errors.Is(err, live.ErrClosed):
		status = http.StatusServiceUnavailable
	case status >= http.StatusInternalServerError:
		h.config.Logger.ErrorContext(r.Context(), "stream failed", "error", err)
	}
	w.Header().Set("Cache-Control", "no-store")
	setRetryAfter(w.Header(), status)
	w.WriteHeader(status)
}

// maxShownVersion is the largest length of a version that a request may contain, in bytes. Every live.State.PageVersion
// is shorter.
const maxShownVersion = 64

// shownVersion returns the version that the browser shows, or "" if the text in the request is too long to be one. The
// length is limited because each stream keeps the version in memory.
func shownVersion(r *http.Request, query url.Values) string {
	shown := cmp.Or(r.Header.Get("Last-Event-ID"), query.Get("v"))
	if len(shown) > maxShownVersion {
		return ""
	}
	return strings.Clone(shown)
}

// liveRequest returns the parameters of a request for a stream. The address of the stream, which the page contains,
// holds the version that the browser shows. After an interruption, Last-Event-ID holds it.
func (h *Handler) liveRequest(r *http.Request) live.Request {
	query := r.URL.Query()
	request := live.Request{
		// The clones let the text of the whole request be freed.
		Address: strings.Clone(h.config.IPExtractor(r)), Shown: shownVersion(r, query),
		Modal: query.Get("view") == "modal",
		Gzip:  accepts(r.Header.Get("Accept-Encoding"), "gzip"),
	}
	request.Language, request.Fallback = h.preferredLanguages(r.Context(), query.Get("shop"), query.Get("lang"), r.Header.Get("Accept-Language"))
	return request
}

// stream is an event stream to one browser.
type stream struct {
	response http.ResponseWriter
	control  *http.ResponseController
	encoder  *live.Encoder
}

func newStream(w http.ResponseWriter, compress bool) *stream {
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no")
	header.Set("X-Content-Type-Options", "nosniff")
	if compress {
		header.Set("Content-Encoding", "gzip")
	}
	// The response ends with the connection, so that no chunk sizes are written between the events.
	header.Set("Transfer-Encoding", "identity")
	w.WriteHeader(http.StatusOK)
	return &stream{response: w, control: http.NewResponseController(w), encoder: live.NewEncoder(compress)}
}

// follow writes the texts of a viewer until its stream ends. After an error the browser connects again.
func (s *stream) follow(ctx context.Context, viewer *live.Viewer, text *live.Text, last bool) {
	for text != nil {
		if err := s.write(s.encoder.Encode(text)...); err != nil {
			return
		}
		if last {
			break
		}
		var err error
		if text, last, err = viewer.Next(ctx); err != nil {
			break
		}
	}
	_ = s.write(s.encoder.End())
}

// write writes and flushes. The server's write deadline is for a whole response, so each event sets
// a new one.
func (s *stream) write(parts ...[]byte) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(live.WriteWait)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("set deadline: %w", err)
	}
	for _, part := range parts {
		if _, err := s.response.Write(part); err != nil {
			return fmt.Errorf("write event: %w", err)
		}
	}
	if err := s.control.Flush(); err != nil {
		return fmt.Errorf("flush event: %w", err)
	}
	return nil
}
