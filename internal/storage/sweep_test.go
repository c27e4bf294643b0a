package storage_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/storage"
	"chequer/internal/sweep/plan/plantest"
	"chequer/internal/sweep/recorded"
)

func TestSweeps_have_the_exact_bytes_of_their_plans(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		older := plantest.Tokens(noon)
		newer := plantest.Example(noon.Add(time.Hour))
		for _, p := range []recorded.Sweep{recorded.New("shop", plantest.Encoded(t, older)), recorded.New("shop", plantest.Encoded(t, newer))} {
			if err := s.AddSweep(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
		got, err := s.Sweep(t.Context(), "shop", newer.ID)
		if err != nil {
			t.Fatal(err)
		}
		if want := plantest.Encoded(t, newer); string(got.Plan.Bytes()) != string(want.Bytes()) || got.Plan.Hash() != want.Hash() {
			t.Errorf("the plan is %s, want %s", got.Plan.Bytes(), want.Bytes())
		}
		if got.Count(recorded.Planned) != len(newer.Rows) || !got.Rows[0].ChangedAt.Equal(newer.MadeAt) {
			t.Errorf("rows are %+v, want %d that are planned", got.Rows, len(newer.Rows))
		}
		all, err := s.Sweeps(t.Context(), "shop", 10)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, one := range all {
			ids = append(ids, one.Plan.ID)
		}
		if diff := cmp.Diff([]string{newer.ID, older.ID}, ids); diff != "" {
			t.Errorf("sweeps (-want +got):\n%s", diff)
		}
		if _, err := s.Sweep(t.Context(), "other", newer.ID); !errors.Is(err, recorded.ErrNotFound) {
			t.Errorf("the sweep of another shop: %v, want %v", err, recorded.ErrNotFound)
		}
		if err := s.AddSweep(t.Context(), recorded.New("shop", plantest.Encoded(t, older))); err == nil {
			t.Error("a plan is recorded twice")
		}
	})
}

func TestSweep_refuses_a_plan_that_was_changed(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		p := plantest.Encoded(t, plantest.Example(noon))
		if err := s.AddSweep(t.Context(), recorded.New("shop", p)); err != nil {
			t.Fatal(err)
		}
		execSQL(t, url, fmt.Sprintf("UPDATE sweeps SET plan = replace(plan, '%s', '0x000000000000000000000000000000000000dEaD')", plantest.To))
		if _, err := s.Sweep(t.Context(), "shop", p.ID); !errors.Is(err, recorded.ErrTampered) {
			t.Errorf("error %v, want %v", err, recorded.ErrTampered)
		}
	})
}

func TestWatchedScripts_are_those_of_the_network_until_the_end_of_the_watch(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		create(t, s, creation("a", "shop"))
		scripts := rows(t, url, "SELECT script FROM destinations WHERE network = 'ethereum'")
		if len(scripts) == 0 {
			t.Fatal("the invoice has no destination on Ethereum")
		}
		for _, tt := range []struct {
			network chain.ID
			at      time.Time
			want    int
		}{{"ethereum", noon, len(scripts)}, {"gnosis", noon, 0}, {"ethereum", noon.AddDate(10, 0, 0), 0}} {
			watched, err := s.WatchedScripts(t.Context(), tt.network, append(scripts, "0x00"), tt.at)
			if err != nil || len(watched) != tt.want {
				t.Errorf("on %s at %s %q are watched, error %v, want %d", tt.network, tt.at, watched, err, tt.want)
			}
		}
		for script, want := range map[string]bool{scripts[0]: true, "0x00": false} {
			if got, err := s.IsDestination(t.Context(), script); err != nil || got != want {
				t.Errorf("IsDestination(%s) = %t, error %v, want %t", script, got, err, want)
			}
		}
	})
}
