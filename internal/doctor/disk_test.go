package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"chequer/internal/config"
)

func TestReportFree_warns_before_the_disk_is_full(t *testing.T) {
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
			e := &examination{}
			e.reportFree("data", func(string) (uint64, error) { return test.free, test.err })
			if text := strings.Join(e.lines(), "\n"); !strings.HasPrefix(text, test.want) || test.want == "" && text != "" {
				t.Errorf("got findings %q, want %q", text, test.want)
			}
		})
	}
}

func TestExamineBackup_reports_the_age_of_the_last_backup(t *testing.T) {
	t.Parallel()
	madeAt := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	c := config.Config{DataDir: t.TempDir()}
	expect := func(now time.Time, want string) {
		t.Helper()
		e := &examination{Config: Config{Settings: c, Now: func() time.Time { return now }}}
		e.examineBackup()
		got := e.lines()
		if len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("got findings %q, want %q", got, want)
		}
	}
	expect(madeAt, "warn backup: chequer backup was never run")
	record := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(c.DataDir, "last-backup.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	record(`{"finished_at":"2026-11-01T12:00:00Z","file":"shop.backup"}`)
	expect(madeAt.Add(90*time.Minute), "ok backup: shop.backup, 1h30m0s ago")
	expect(madeAt.Add(9*24*time.Hour), "warn backup: the last backup is 9 days old: shop.backup")
	record("{")
	expect(madeAt, "warn backup: last backup: ")
}
