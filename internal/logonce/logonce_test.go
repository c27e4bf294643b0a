package logonce_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"chequer/internal/logonce"
)

func TestFailure(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	log := slog.New(slog.NewTextHandler(&out, nil))
	var f logonce.Failure
	down, full := errors.New("down"), errors.New("full")
	for _, err := range []error{nil, down, down, full, full, nil, full} {
		f.Note(t.Context(), log, "work failed", err, "step", "one")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	f.Note(ended, log, "work failed", down)
	if got := strings.Count(out.String(), "work failed"); got != 3 || !strings.Contains(out.String(), `step=one error=down`) {
		t.Errorf("%d records, want 3: down, full and full after a success:\n%s", got, out.String())
	}
}
