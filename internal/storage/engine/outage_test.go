package engine

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"chequer/internal/logtest"
)

// On a full disk, reads and transactions without changes succeed. They must not end the outage.
func TestEngine_logs_an_outage_once(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &logtest.Journal{}
		e := &Engine{log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{ReplaceAttr: onlyMessage}))}
		for range 60 {
			_ = e.wrapUnavailable(context.Background(), io.ErrUnexpectedEOF)
			_ = e.wrapUnavailable(context.Background(), nil)
			time.Sleep(time.Second)
			_ = e.wrapUnavailable(context.Background(), nil)
		}
		want := "msg=\"database does not answer\"\n"
		if got := log.String(); got != want {
			t.Errorf("during the outage:\n%s, want\n%s", got, want)
		}
		time.Sleep(30 * time.Second)
		_ = e.wrapUnavailable(context.Background(), nil)
		_ = e.wrapUnavailable(context.Background(), nil)
		want += "msg=\"database answers again\"\n"
		if got := log.String(); got != want {
			t.Errorf("after the outage:\n%s, want\n%s", got, want)
		}
	})
}

// onlyMessage removes everything but the message from a log record.
func onlyMessage(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.MessageKey {
		return a
	}
	return slog.Attr{}
}
