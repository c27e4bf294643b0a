// Package loglimit limits the log records of one cause.
package loglimit

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"chequer/internal/invoice"
)

// interval is the minimum time between two log records of a warning or error with the same
// cause.
const interval = time.Minute

// maxCauses is the maximum number of causes in memory.
const maxCauses = 1000

// limited is a log handler that writes warnings and errors of one cause at most once per
// interval, with the number of records that were omitted since the last one.
type limited struct {
	slog.Handler
	causes *causes
}

// causes holds the causes that were logged recently. It is safe for concurrent use.
type causes struct {
	now func() time.Time

	mu     sync.Mutex
	logged map[cause]*entry
}

// cause identifies records that are treated as equal.
type cause struct{ message, reason string }

// entry is the time of the last record of a cause, and the number of records omitted since.
type entry struct {
	at      time.Time
	omitted int
}

// New returns a logger that writes warnings and errors of one cause at most once per
// interval.
func New(log *slog.Logger, now func() time.Time) *slog.Logger {
	return slog.New(limited{log.Handler(), &causes{now: now, logged: map[cause]*entry{}}})
}

// Handle implements slog.Handler.
func (l limited) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn {
		return l.Handler.Handle(ctx, r)
	}
	omitted, ok := l.causes.admit(causeOf(r))
	if !ok {
		return nil
	}
	if omitted > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("omitted", omitted))
	}
	return l.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (l limited) WithAttrs(attrs []slog.Attr) slog.Handler {
	return limited{l.Handler.WithAttrs(attrs), l.causes}
}

// WithGroup implements slog.Handler.
func (l limited) WithGroup(name string) slog.Handler {
	return limited{l.Handler.WithGroup(name), l.causes}
}

// admit reports whether a record of a cause may be logged now, and how many were omitted since the
// last one.
func (c *causes) admit(why cause) (omitted int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	e := c.logged[why]
	if e != nil && now.Sub(e.at) < interval && !now.Before(e.at) { // a clock that was set back omits nothing
		e.omitted++
		return 0, false
	}
	if e != nil {
		omitted = e.omitted
	} else if len(c.logged) >= maxCauses {
		clear(c.logged)
	}
	c.logged[why] = &entry{at: now}
	return omitted, true
}

// causeOf returns the cause of a record: its message, its innermost error, and its other
// attributes. If the database is unavailable, the cause is the same for all of its errors.
func causeOf(r slog.Record) cause {
	why, unavailable := cause{message: r.Message}, false
	r.Attrs(func(a slog.Attr) bool {
		err, ok := a.Value.Any().(error)
		if ok {
			a = slog.String(a.Key, rootCause(err))
			unavailable = unavailable || errors.Is(err, invoice.ErrUnavailable)
		}
		why.reason += a.String() + " "
		return true
	})
	if unavailable {
		why.reason = invoice.ErrUnavailable.Error()
	}
	return why
}

// rootCause returns the text of the innermost error of a chain, or of several if errors are joined.
func rootCause(err error) string {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		var texts []string
		for _, e := range several.Unwrap() {
			texts = append(texts, rootCause(e))
		}
		return strings.Join(texts, "; ")
	}
	if inner := errors.Unwrap(err); inner != nil {
		return rootCause(inner)
	}
	return err.Error()
}
