package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"chequer/internal/config"
)

// findingLines collects findings as lines of text.
type findingLines []string

func (s *findingLines) say(level Level, about, format string, args ...any) {
	*s = append(*s, string(level)+" "+about+": "+fmt.Sprintf(format, args...))
}

func TestSayFree(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		free uint64
		err  error
		want string
	}{
		"plenty":      {free: 80 << 30, want: "ok disk: 80 GiB free in data"},
		"little":      {free: 900 << 20, want: "warn disk: only 900 MiB free in data"},
		"none":        {free: 3 << 20, want: "fail disk: only 3 MiB free in data"},
		"an error":    {err: errors.New("stale handle"), want: "warn disk: data: stale handle"},
		"unsupported": {err: errors.ErrUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got findingLines
			reportFree("data", func(string) (uint64, error) { return test.free, test.err }, got.say)
			if text := strings.Join(got, "\n"); !strings.HasPrefix(text, test.want) || test.want == "" && text != "" {
				t.Errorf("got findings %q, want %q", text, test.want)
			}
		})
	}
}

func TestExamineBackup(t *testing.T) {
	t.Parallel()
	made := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	c := config.Config{DataDir: t.TempDir()}
	expect := func(now time.Time, want string) {
		t.Helper()
		var got findingLines
		examineBackup(c, now, got.say)
		if len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("got findings %q, want %q", got, want)
		}
	}
	expect(made, "warn backup: chequer backup was never run")
	if err := recordBackup(c.DataDir, backupRecord{FinishedAt: made, File: "shop.backup"}); err != nil {
		t.Fatal(err)
	}
	expect(made.Add(90*time.Minute), "ok backup: shop.backup, 1h30m0s ago")
	expect(made.Add(9*24*time.Hour), "warn backup: the last one is 9 days old: shop.backup")
	if err := os.WriteFile(filepath.Join(c.DataDir, lastBackupFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	expect(made, "warn backup: last backup: ")
}
