package lightning_test

import (
	"fmt"
	"maps"
	"testing"
	"time"
)

func TestScan_looks_up_less_often_with_time(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.add("aa", 20*time.Minute)
		for _, phase := range []struct {
			time     time.Duration
			from, to int
		}{
			{2 * time.Minute, 39, 41}, {18 * time.Minute, 107, 109}, {time.Hour, 59, 62}, {23 * time.Hour, 137, 139}, {24 * time.Hour, 24, 26},
		} {
			if got := f.run("aa", phase.time); got < phase.from || got > phase.to {
				f.t.Errorf("%d lookups in %s, want %d to %d", got, phase.time, phase.from, phase.to)
			}
		}
	})
}

func TestScan_looks_up_less_often_while_notifications_arrive(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.provider.live = true
		f.add("aa", 20*time.Minute)
		if got := f.run("aa", 10*time.Minute); got < 19 || got > 21 {
			f.t.Errorf("%d lookups, want about 20", got)
		}
	})
}

func TestScan_looks_up_long_requests_before_their_end(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.add("aa", 30*24*time.Hour+30*time.Minute)
		until := f.watched.pending["aa"].Until
		f.mustScan()
		time.Sleep(30 * 24 * time.Hour)
		f.mustScan() // the next one would be in an hour
		before := f.provider.calls["aa"]
		time.Sleep(time.Until(until.Add(9 * time.Minute)))
		f.mustScan()
		if got := f.provider.calls["aa"] - before; got != 1 {
			f.t.Errorf("%d lookups 9 minutes after the end, want 1", got)
		}
	})
}

// Many requests are looked up less often, but each a last time before it is no longer watched.
func TestScan_looks_up_many_requests_before_their_end(t *testing.T) {
	inBubble(t, func(f *fixture) {
		for i := range 200 {
			f.add(fmt.Sprint(i), 10*time.Minute)
		}
		until := f.watched.pending["0"].Until
		scanUntil := func(end time.Time) {
			for time.Now().Before(end) {
				if _, err := f.scan(); err != nil {
					f.t.Fatal(err)
				}
				time.Sleep(time.Second)
			}
		}
		scanUntil(until.Add(9*time.Minute - 10*time.Second)) // a scan takes 8 seconds at most
		before := maps.Clone(f.provider.calls)
		scanUntil(until.Add(9*time.Minute + 50*time.Second))
		for hash := range f.watched.pending {
			if f.provider.calls[hash] == before[hash] {
				f.t.Errorf("request %s is not looked up about 9 minutes after its end", hash)
			}
		}
	})
}

func TestScan_limits_the_lookups(t *testing.T) {
	inBubble(t, func(f *fixture) {
		for i := range 100 {
			f.add(fmt.Sprint(i), 24*time.Hour)
		}
		f.provider.set(func() {
			for i := range 100 {
				f.provider.slow[fmt.Sprint(i)] = i%7 == 0
			}
		})
		if s, err := f.scan(); err == nil && !s.Behind {
			f.t.Errorf("snapshot %+v, want an incomplete one", s)
		}
		total := 0
		for _, n := range f.provider.calls {
			total += n
		}
		if total > 42 || f.provider.highest > 4 {
			f.t.Errorf("%d lookups within 8 s, %d at once, want at most 5 per second and 4 at once", total, f.provider.highest)
		}
	})
}

func TestScan_looks_up_each_of_many_open_requests(t *testing.T) {
	inBubble(t, func(f *fixture) {
		for i := range 100 {
			f.add(fmt.Sprint(i), time.Hour)
		}
		complete := 0
		for range 180 {
			s, err := f.scan()
			if err != nil {
				f.t.Fatal(err)
			}
			if !s.Behind {
				complete++
			}
			time.Sleep(time.Second)
		}
		for hash := range f.watched.pending {
			if f.provider.calls[hash] < 3 {
				f.t.Errorf("request %s was looked up %d times in three minutes, want at least 3", hash, f.provider.calls[hash])
			}
		}
		if complete < 90 {
			f.t.Errorf("%d of 180 scans were complete: the network does not count as scanned", complete)
		}
	})
}

func TestScan_completes_many_requests_in_parts(t *testing.T) {
	inBubble(t, func(f *fixture) {
		for i := range 100 {
			f.add(fmt.Sprint(i), 24*time.Hour)
			r := f.watched.pending[fmt.Sprint(i)]
			r.MadeAt, r.ShownUntil = r.MadeAt.Add(-5*time.Hour), r.MadeAt.Add(-4*time.Hour)
			f.watched.pending[r.Hash] = r
		}
		scans := 1
		for f.mustScan().Behind {
			scans++
		}
		if scans != 3 || len(f.provider.calls) != 100 {
			f.t.Errorf("%d scans looked up %d requests, want 3 and 100", scans, len(f.provider.calls))
		}
	})
}
