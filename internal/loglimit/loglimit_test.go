package loglimit_test

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/invoice"
	"chequer/internal/loglimit"
	"chequer/internal/logtest"
)

func TestNew_logs_a_cause_once_per_interval(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	var journal logtest.Journal
	withoutTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	log := loglimit.New(slog.New(slog.NewTextHandler(&journal, &slog.HandlerOptions{ReplaceAttr: withoutTime})), func() time.Time { return now })
	for second := range 30 { // half a minute without a database
		for i, reason := range []string{"connection refused", "server closed the connection"} {
			log.Warn("expire invoices", "error", fmt.Errorf("call %d: %w: %w", i, invoice.ErrUnavailable, errors.New(reason)))
		}
		log.Error("page failed", "route", "/order", "error", invoice.ErrUnavailable)
		log.Error("page failed", "route", "/order", "error", fmt.Errorf("another: %w", errors.New("disk on fire")))
		log.Error("page failed", "route", "/shop", "error", invoice.ErrUnavailable)
		log.Error("not ready", "error", fmt.Errorf("write marks: %w", errors.Join(
			&fs.PathError{Op: "write", Path: fmt.Sprint("marks.", second), Err: syscall.ENOSPC}, errors.New("not closed"))))
		log.Warn("lease lost", "network", "bitcoin")
		log.Warn("lease lost", "network", "litecoin")
		log.Info("news")
		now = now.Add(time.Second)
	}
	now = now.Add(time.Minute)
	log.Error("page failed", "route", "/order", "error", invoice.ErrUnavailable)
	now = now.Add(-time.Hour) // a clock that is set back does not suppress records
	log.Error("page failed", "route", "/order", "error", invoice.ErrUnavailable)

	want := []string{
		`level=WARN msg="expire invoices" error="call 0: the database does not answer now: connection refused"`,
		`level=ERROR msg="page failed" route=/order error="the database does not answer now"`,
		`level=ERROR msg="page failed" route=/order error="another: disk on fire"`,
		`level=ERROR msg="not ready" error="write marks: write marks.0: no space left on device\nnot closed"`,
		`level=WARN msg="lease lost" network=bitcoin`,
		`level=WARN msg="lease lost" network=litecoin`,
		`level=ERROR msg="page failed" route=/order error="the database does not answer now" omitted=59`,
		`level=ERROR msg="page failed" route=/order error="the database does not answer now"`,
	}
	var got []string
	for line := range strings.Lines(journal.String()) {
		if line != "level=INFO msg=news\n" {
			got = append(got, strings.TrimSuffix(line, "\n"))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if news := strings.Count(journal.String(), "msg=news"); news != 30 {
		t.Errorf("%d of 30 INFO records are logged", news)
	}
}
