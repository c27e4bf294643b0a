package app

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"chequer/internal/invoice"
)

// limitInterval is how often a warning or error of one cause is logged at most.
const limitInterval = time.Minute

// maxCauses is how many causes are remembered at most.
const maxCauses = 1000

// limited is a log handler that writes warnings and errors of one cause at most once in
// limitInterval, with the number of those that were left out since the last.
type limited struct {
	slog.Handler
	causes *causes
}

// causes are those that were logged lately. They are safe for concurrent use.
type causes struct {
	now func() time.Time

	mu     sync.Mutex
	logged map[cause]*entry
}

// cause is what makes two records the same.
type cause struct{ message, reason string }

// entry is when a cause was logged last, and how often it was left out since.
type entry struct {
	at      time.Time
	omitted int
}

// limit returns a logger that writes warnings and errors of one cause at most once in
// limitInterval.
func limit(log *slog.Logger, now func() time.Time) *slog.Logger {
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

// admit reports whether a cause may be logged now, and how often it was left out since
// the last time.
func (c *causes) admit(why cause) (omitted int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	e := c.logged[why]
	if e != nil && now.Sub(e.at) < limitInterval && !now.Before(e.at) {
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

// causeOf returns the cause of a record: its message with the error at the bottom of
// that of the record, and the other attributes. While the database does not answer,
// that is the reason whatever it was asked for.
func causeOf(r slog.Record) cause {
	why, away := cause{message: r.Message}, false
	r.Attrs(func(a slog.Attr) bool {
		err, ok := a.Value.Any().(error)
		if ok {
			a = slog.String(a.Key, bottom(err))
			away = away || errors.Is(err, invoice.ErrUnavailable)
		}
		why.reason += a.String() + " "
		return true
	})
	if away {
		why.reason = invoice.ErrUnavailable.Error()
	}
	return why
}

// bottom returns the text of the error that others wrap; of several, all texts.
func bottom(err error) string {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		var texts []string
		for _, e := range several.Unwrap() {
			texts = append(texts, bottom(e))
		}
		return strings.Join(texts, "; ")
	}
	if inner := errors.Unwrap(err); inner != nil {
		return bottom(inner)
	}
	return err.Error()
}
