// Package logonce keeps the error of a repeated step from being logged at each repetition.
package logonce

import "context"

// Failure is the last error of a step. The zero Failure is that of a step that has not failed. It is not safe for
// concurrent use.
type Failure struct{ last string }

// IsNew stores the error of a step, nil for a success, and reports whether it must be logged: it differs from that of the last
// repetition. An error after the end of the context is a consequence of the end, and is not stored.
func (f *Failure) IsNew(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	isNew := text != "" && text != f.last
	f.last = text
	return isNew
}
