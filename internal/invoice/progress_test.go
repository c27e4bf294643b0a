package invoice_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

func TestProgress_records_gaps(t *testing.T) {
	t.Parallel()
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	scan := func(started, since int) chain.Snapshot {
		return chain.Snapshot{Started: at(started), ViewSince: at(since), Unconfirmed: chain.Partial}
	}
	blind := func(started int) chain.Snapshot { return chain.Snapshot{Started: at(started), Unconfirmed: chain.None} }
	for _, tt := range []struct {
		name  string
		scans []chain.Snapshot
		want  []invoice.Gap
	}{
		{"a listener that started before the first scan", []chain.Snapshot{scan(10, 5)}, []invoice.Gap{{Until: at(5)}}},
		{"a listener that continues", []chain.Snapshot{scan(10, 5), scan(11, 5), scan(40, 5)}, []invoice.Gap{{Until: at(5)}}},
		{"a listener that restarted", []chain.Snapshot{scan(10, 5), scan(30, 20)}, []invoice.Gap{{Until: at(5)}, {From: at(10), Until: at(20)}}},
		{"another listener that started earlier", []chain.Snapshot{scan(10, 5), scan(30, 1)}, []invoice.Gap{{Until: at(5)}}},
		{"no view at all is one long gap", []chain.Snapshot{blind(10), blind(20), blind(30)}, []invoice.Gap{{Until: at(30)}}},
		{"an interrupted view", []chain.Snapshot{scan(10, 5), blind(20), blind(30), scan(40, 35)}, []invoice.Gap{{Until: at(5)}, {From: at(10), Until: at(35)}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var p invoice.Progress
			for i, s := range tt.scans {
				p = p.After(s, int64(i+1))
			}
			if diff := cmp.Diff(tt.want, p.Gaps); diff != "" {
				t.Errorf("gaps (-want +got):\n%s", diff)
			}
		})
	}
}

// After a clock that was a day ahead is corrected, unwatched time is still a gap, in which a
// shopper may pay.
func TestProgress_records_a_gap_after_the_clock_was_set_back(t *testing.T) {
	t.Parallel()
	var p invoice.Progress
	day := 24 * time.Hour
	for i, started := range []time.Time{noon.Add(day), noon.Add(time.Minute), noon.Add(20 * time.Minute)} {
		s := chain.Snapshot{Started: started}
		if i == 0 {
			s.ViewSince = noon.Add(-day) // the view is lost afterwards
		}
		p = p.After(s, int64(i+1))
	}
	inv := newInvoice(t, noon)
	inv.Cover("bitcoin", p.Scanned, p.Gaps)
	if got := inv.Coverage["bitcoin"].BlindFrom; got.IsZero() || got.After(quoteEnd) {
		t.Errorf("blind from %s, want before %s; gaps %v", got, quoteEnd, p.Gaps)
	}
}

func TestProgress_keeps_a_bounded_number_of_gaps(t *testing.T) {
	t.Parallel()
	var p invoice.Progress
	for i := range 200 {
		start := noon.Add(time.Duration(i) * time.Hour)
		p = p.After(chain.Snapshot{Started: start, ViewSince: start.Add(-time.Minute)}, int64(i+1))
	}
	if len(p.Gaps) != 64 || !p.Gaps[0].From.IsZero() {
		t.Errorf("%d gaps, the first from %s, want 64, the first from the zero time", len(p.Gaps), p.Gaps[0].From)
	}
}

func TestProgress_does_not_count_as_scanned_below_the_tip(t *testing.T) {
	t.Parallel()
	before := invoice.Progress{Tip: chain.Cursor{Height: 900, Hash: "t"}, Scanned: noon, Sequence: 1}
	got := before.After(chain.Snapshot{
		Started: noon.Add(time.Hour), Behind: true, Tip: chain.Block{Height: 800}, Next: chain.Cursor{Height: 700, Hash: "n"},
	}, 2)
	want := invoice.Progress{Cursor: chain.Cursor{Height: 700, Hash: "n"}, Tip: before.Tip, Scanned: noon, Sequence: 2}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestObserve_concludes_nothing_above_a_scan_that_stopped_below_the_tip(t *testing.T) {
	t.Parallel()
	inv := newInvoice(t, noon)
	paid := pay("a", full, time.Minute)
	observe(inv, 110, inBlock(paid, 105, 2*time.Minute))
	before := outcomeOf(inv)
	observeSnapshot(inv, chain.Snapshot{
		Started: noon.Add(time.Hour), Behind: true, From: chain.Cursor{Height: 90}, Tip: chain.Block{Height: 100}, Unconfirmed: chain.None,
	})
	if diff := cmp.Diff(before, outcomeOf(inv)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}
