// Package logonce logs the error of a step that is repeated until it succeeds.
package logonce

import (
	"context"
	"log/slog"
)

// Failure logs an error once, until it changes. The zero Failure has logged nothing. It is not safe for concurrent use.
type Failure struct{ last string }

// Note logs an error with a message and attributes if it is another one than the last. Nil is a success. It logs nothing after
// the context has ended, because the error is then a consequence.
func (f *Failure) Note(ctx context.Context, log *slog.Logger, message string, err error, attributes ...any) {
	if ctx.Err() != nil {
		return
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != f.last {
		log.ErrorContext(ctx, message, append(attributes, "error", err)...)
	}
	f.last = text
}
