// Package requestlog gives every HTTP request an ID, which is in its log lines and in its answer,
// and can log each request.
package requestlog

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"net/http"
	"regexp"
	"time"
)

// Header is the header of an answer with the ID of its request.
const Header = "X-Request-Id"

// idKey is the key of a request's ID in its context.
type idKey struct{}

// Config describes the middleware.
type Config struct {
	// Access receives one line per request; nil writes none.
	Access *slog.Logger
	Now    func() time.Time
}

// New returns a handler that gives each request an ID before next serves it. An ID
// that the caller sends is ignored.
func New(c Config, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := newID()
		w.Header().Set(Header, id)
		r = r.WithContext(context.WithValue(r.Context(), idKey{}, id))
		if c.Access == nil {
			next.ServeHTTP(w, r)
			return
		}
		start := c.Now()
		recorder := &statusRecorder{ResponseWriter: w}
		defer func() {
			c.Access.InfoContext(r.Context(), "request", "method", r.Method, "path", redacted(r.URL.Path),
				"status", recorder.status, "bytes", recorder.bytes, "duration", c.Now().Sub(start))
		}()
		next.ServeHTTP(recorder, r)
	})
}

// newID returns 16 random hexadecimal digits.
func newID() string {
	var id [8]byte
	rand.Read(id[:]) // never fails; see crypto/rand
	return hex.EncodeToString(id[:])
}

// capability matches an invoice's ID or a terminal's token in a path, which grants access to the
// page to anyone.
var capability = regexp.MustCompile(`[A-Za-z0-9_-]{20,}`)

// redacted returns a path in which capabilities are cut to their first 6 characters.
func redacted(path string) string {
	return capability.ReplaceAllStringFunc(path, func(s string) string { return s[:6] + "…" })
}

// statusRecorder records the status and size of an answer.
type statusRecorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// WriteHeader implements http.ResponseWriter.
func (w *statusRecorder) WriteHeader(status int) {
	if w.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *statusRecorder) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// Unwrap gives http.ResponseController access to the connection.
func (w *statusRecorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Handler returns a slog.Handler that adds the attribute "request" to records whose
// context belongs to a request.
func Handler(next slog.Handler) slog.Handler { return handler{next} }

type handler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	if id, ok := ctx.Value(idKey{}).(string); ok {
		r = r.Clone()
		r.AddAttrs(slog.String("request", id))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler { return handler{h.Handler.WithGroup(name)} }
