package app_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/app"
	"chequer/internal/storage/storagetest"
)

func TestExamineClocks(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			database := ""
			if engine == "postgres" {
				database = storagetest.Postgres(t)
			}
			c := settings(t, database)
			at := func(ahead time.Duration) *app.Core {
				core, err := app.OpenCore(t.Context(), c, app.Options{
					Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return time.Now().Add(ahead) },
				})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { core.Close() })
				return core
			}
			wrong, right := at(-time.Hour), at(0)
			findings := func(core *app.Core) []app.Finding {
				found, err := app.ExamineClocks(t.Context(), core)
				if err != nil {
					t.Fatal(err)
				}
				return found
			}
			own := app.Finding{Level: app.LevelWarn, About: "clock", Says: "this machine's is 1h0m0s behind the database's: set both by NTP"}
			if diff := cmp.Diff([]app.Finding{own}, findings(wrong)); diff != "" {
				t.Errorf("findings with a wrong clock (-want +got):\n%s", diff)
			}
			if _, err := wrong.Storage.AcquireLease(t.Context(), "bitcoin", "wrong", wrong.Now(), time.Minute); err != nil {
				t.Fatal(err)
			}
			want := []app.Finding{
				{Level: app.LevelOK, About: "clock", Says: "agrees with the database's"},
				{Level: app.LevelWarn, About: "clock", Says: "that of the process that watches bitcoin is 1h0m0s behind the database's: set both by NTP"},
			}
			if diff := cmp.Diff(want, findings(right)); diff != "" {
				t.Errorf("findings while a process with a wrong clock watches (-want +got):\n%s", diff)
			}
		})
	}
}
