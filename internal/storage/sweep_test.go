package storage_test

import (
	"errors"
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

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
		if rest, err := s.SweepsAfter(t.Context(), "shop", newer.ID, 10); err != nil || len(rest) != 1 || rest[0].Plan.ID != older.ID {
			t.Errorf("after the newest there are %d sweeps, error %v, want the older one", len(rest), err)
		}
		if rest, err := s.SweepsAfter(t.Context(), "other", newer.ID, 10); err != nil || len(rest) != 0 {
			t.Errorf("another shop has %d sweeps, error %v", len(rest), err)
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

func TestSaveSweepRows_keeps_rows_that_are_moved(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		p := plantest.Encoded(t, plantest.Example(noon))
		if err := s.AddSweep(t.Context(), recorded.New("shop", p)); err != nil {
			t.Fatal(err)
		}
		for _, state := range []recorded.State{recorded.Sent, recorded.Moved, recorded.Refused} {
			changes := []recorded.Change{{Number: 2, Row: recorded.Row{State: state, Tx: "0x" + string(state), ChangedAt: noon, Fee: big.NewInt(int64(len(state)))}}}
			if err := s.SaveSweepRows(t.Context(), p.ID, changes); err != nil {
				t.Fatal(err)
			}
		}
		got, err := s.Sweep(t.Context(), "shop", p.ID)
		if err != nil || got.Rows[1].State != recorded.Moved || got.Rows[1].Tx != "0xmoved" || got.Rows[1].Fee.Int64() != int64(len(recorded.Moved)) || got.Rows[0].State != recorded.Planned || got.Rows[0].Fee != nil {
			t.Errorf("rows are %+v, error %v", got.Rows, err)
		}
	})
}

func TestSaveSweepRows_adds_the_fees_of_rows_that_are_moved(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		p := plantest.Encoded(t, plantest.Example(noon))
		if err := s.AddSweep(t.Context(), recorded.New("shop", p)); err != nil {
			t.Fatal(err)
		}
		euro := func(text string) decimal.NullDecimal { return decimal.NewNullDecimal(decimal.RequireFromString(text)) }
		for i, row := range []recorded.Row{
			{Tx: "0x01"},
			{Tx: "0x02", Fee: big.NewInt(9)}, // another transaction
			{Tx: "0x01", Fee: big.NewInt(1), FeeEUR: euro("0.1")},
			{Tx: "0x01", Fee: big.NewInt(2), FeeEUR: euro("0.2")}, // it has one
			{Tx: "0x01", Fee: big.NewInt(3), FundingFee: big.NewInt(4), FeeEUR: euro("0.5")},
			{Tx: "0x01"},
		} {
			row.State, row.ChangedAt = recorded.Moved, noon.Add(time.Duration(i)*time.Hour)
			if err := s.SaveSweepRows(t.Context(), p.ID, []recorded.Change{{Number: 2, Row: row}}); err != nil {
				t.Fatal(err)
			}
		}
		got, err := s.Sweep(t.Context(), "shop", p.ID)
		if err != nil {
			t.Fatal(err)
		}
		r := got.Rows[1]
		if r.Tx != "0x01" || !r.ChangedAt.Equal(noon) || r.Fee.Int64() != 1 || r.FundingFee.Int64() != 4 || r.FeeEUR.Decimal.String() != "0.5" {
			t.Errorf("the row is %+v", r)
		}
	})
}

func TestStopSweep_ends_the_sending_of_a_plan(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		p := plantest.Encoded(t, plantest.Example(noon))
		if err := s.AddSweep(t.Context(), recorded.New("shop", p)); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			name string
			err  error
			want error
		}{
			{"send", s.RecordSweepSent(t.Context(), "shop", p.ID, 1), nil},
			{"stop that of another shop", s.StopSweep(t.Context(), "other", p.ID, noon), recorded.ErrNotFound},
			{"stop", s.StopSweep(t.Context(), "shop", p.ID, noon), nil},
			{"stop again", s.StopSweep(t.Context(), "shop", p.ID, noon), recorded.ErrStopped},
			{"send again", s.RecordSweepSent(t.Context(), "shop", p.ID, 1), recorded.ErrStopped},
		} {
			if !errors.Is(step.err, step.want) {
				t.Errorf("%s: error %v, want %v", step.name, step.err, step.want)
			}
		}
		if got, err := s.Sweep(t.Context(), "shop", p.ID); err != nil || !got.StoppedAt.Equal(noon) {
			t.Errorf("stopped at %s, error %v, want %s", got.StoppedAt, err, noon)
		}
	})
}

func TestSweepLease_is_taken_over_when_its_holder_does_not_renew_it(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		const ttl = 20 * time.Second
		acquire := func(holder string, after time.Duration) error {
			return s.AcquireSweepLease(t.Context(), "base shop", holder, noon.Add(after), ttl)
		}
		for _, step := range []struct {
			holder string
			after  time.Duration
			want   error
		}{
			{"one", 0, nil}, {"two", 0, recorded.ErrHeld}, {"one", 10 * time.Second, nil}, {"two", ttl, recorded.ErrHeld},
			{"two", ttl + time.Second, recorded.ErrHeld}, {"two", 2 * ttl, nil}, {"one", 2 * ttl, recorded.ErrHeld},
		} {
			if err := acquire(step.holder, step.after); !errors.Is(err, step.want) {
				t.Errorf("%s after %s: error %v, want %v", step.holder, step.after, err, step.want)
			}
		}
		if err := s.ReleaseSweepLease(t.Context(), "base shop", "one"); err != nil {
			t.Fatal(err)
		}
		if err := acquire("one", 2*ttl); !errors.Is(err, recorded.ErrHeld) {
			t.Errorf("a process released the lease of another: %v", err)
		}
		if err := s.ReleaseSweepLease(t.Context(), "base shop", "two"); err != nil {
			t.Fatal(err)
		}
		if err := acquire("one", 2*ttl); err != nil {
			t.Errorf("after its release: %v", err)
		}
	})
}

func TestRecordSweepCarried_keeps_rows_of_other_transactions(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		ctx, p := t.Context(), plantest.Encoded(t, plantest.Tokens(noon))
		if err := s.AddSweep(ctx, recorded.New("shop", p)); err != nil {
			t.Fatal(err)
		}
		moved := recorded.Change{Number: 1, Row: recorded.Row{State: recorded.Moved, Tx: "0x00", ChangedAt: noon}}
		blocked := recorded.Change{Number: 4, Row: recorded.Row{State: recorded.Blocked, ChangedAt: noon}}
		if err := s.SaveSweepRows(ctx, p.ID, []recorded.Change{moved, blocked}); err != nil {
			t.Fatal(err)
		}
		if err := s.StopSweep(ctx, "shop", p.ID, noon); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			tx      string
			numbers []int
			want    int
		}{{"0x01", []int{1, 2}, 1}, {"0x01", []int{1, 2}, 1}, {"0x02", []int{2}, 0}, {"0x02", []int{2, 3, 4}, 2}} {
			if got, err := s.RecordSweepCarried(ctx, "shop", p.ID, step.tx, step.numbers, noon.Add(time.Minute)); err != nil || got != step.want {
				t.Errorf("%s carries %d rows, error %v, want %d", step.tx, got, err, step.want)
			}
		}
		found, err := s.Sweep(ctx, "shop", p.ID)
		if err != nil {
			t.Fatal(err)
		}
		var rows []string
		for _, r := range found.Rows {
			rows = append(rows, fmt.Sprint(r.State, " ", r.Tx))
		}
		if diff := cmp.Diff([]string{"moved 0x00", "sent 0x01", "sent 0x02", "sent 0x02"}, rows); diff != "" {
			t.Errorf("rows (-want +got):\n%s", diff)
		}
		if _, err := s.RecordSweepCarried(ctx, "other", p.ID, "0x03", []int{2}, noon); !errors.Is(err, recorded.ErrNotFound) {
			t.Errorf("the sweep of another shop: %v, want %v", err, recorded.ErrNotFound)
		}
	})
}
