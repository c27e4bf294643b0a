package doctor

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/readiness"
	"chequer/internal/storage"
	"chequer/internal/storage/storagetest"
)

func TestReportBlockTime_warns_of_old_and_future_blocks(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		wallet string
		tip    time.Duration // relative to now
		want   string
	}{
		"recent EVM block":                        {wallet: "ETH", tip: -6 * time.Second},
		"EVM block in the future":                 {wallet: "ETH", tip: time.Minute, want: "warn network x: the newest block is 1m0s ahead of this machine's clock"},
		"old EVM block":                           {wallet: "ETH", tip: -time.Hour, want: "warn network x: the newest block is 1h0m0s old"},
		"Bitcoin block less than two hours ahead": {wallet: "BTC", tip: 90 * time.Minute},
		"Bitcoin block an hour old":               {wallet: "BTC", tip: -time.Hour},
		"Bitcoin block more than two hours ahead": {wallet: "BTC", tip: 3 * time.Hour, want: "warn network x: the newest block is 3h0m0s ahead"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &examination{Config: Config{Now: func() time.Time { return now }}}
			tip := now.Add(test.tip)
			e.reportBlockTime(readiness.Network{TipTime: &tip}, test.wallet, "network x")
			if text := strings.Join(e.lines(), "\n"); !strings.HasPrefix(text, test.want) || test.want == "" && text != "" {
				t.Errorf("got findings %q, want %q", text, test.want)
			}
		})
	}
}

func TestExamineClocks_reports_clocks_that_differ_from_the_database(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			database := storagetest.File(t)
			if engine == "postgres" {
				database = storagetest.Postgres(t)
			}
			at := func(ahead time.Duration) *examination {
				return &examination{Config: Config{Storage: open(t, database), Now: func() time.Time { return time.Now().Add(ahead) }}}
			}
			wrong, right := at(-time.Hour), at(0)
			findings := func(e *examination) []Finding {
				if err := e.examineClocks(t.Context()); err != nil {
					t.Fatal(err)
				}
				return e.found
			}
			own := Finding{Level: LevelWarn, About: "clock", Message: "this machine's clock is 1h0m0s behind the database's: set both by NTP"}
			if diff := cmp.Diff([]Finding{own}, findings(wrong)); diff != "" {
				t.Errorf("findings with a wrong clock (-want +got):\n%s", diff)
			}
			if _, err := wrong.Storage.(*storage.Storage).AcquireLease(t.Context(), "bitcoin", "wrong", wrong.Now(), time.Minute); err != nil {
				t.Fatal(err)
			}
			want := []Finding{
				{Level: LevelOK, About: "clock", Message: "agrees with the database's"},
				{Level: LevelWarn, About: "clock", Message: "the clock of the process that watches bitcoin is 1h0m0s behind the database's: set both by NTP"},
			}
			if diff := cmp.Diff(want, findings(right)); diff != "" {
				t.Errorf("findings while a process with a wrong clock watches (-want +got):\n%s", diff)
			}
		})
	}
}
