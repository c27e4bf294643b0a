package logonce_test

import (
	"context"
	"errors"
	"testing"

	"chequer/internal/logonce"
)

func TestFailure_is_new_when_the_error_changes(t *testing.T) {
	t.Parallel()
	var f logonce.Failure
	down, full := errors.New("down"), errors.New("full")
	for i, step := range []struct {
		err   error
		isNew bool
	}{{nil, false}, {down, true}, {down, false}, {full, true}, {full, false}, {nil, false}, {full, true}} {
		if got := f.IsNew(t.Context(), step.err); got != step.isNew {
			t.Errorf("step %d with error %v: %t, want %t", i, step.err, got, step.isNew)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if f.IsNew(ended, down) {
		t.Error("an error after the end of the context is new")
	}
	if f.IsNew(t.Context(), full) {
		t.Error("an error after the end of the context was stored")
	}
}
