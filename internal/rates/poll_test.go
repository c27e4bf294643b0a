package rates_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/money"
	"chequer/internal/rates"
)

func TestRun_polls_each_source_at_its_own_interval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.Now = time.Now
		f.a.set("BTC-EUR", "80000")
		f.b.set("BTC-EUR", "80100")
		f.c.block = make(chan struct{}) // never answers: timeout after ten seconds, then the next request
		f.ecb.setError(errors.New("closed"))
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- f.Run(ctx) }()

		synctest.Wait()
		if got := f.price("BTC", money.BTC, money.EUR); got != "80050" {
			t.Errorf("first price = %s, want 80050 although c does not answer", got)
		}
		time.Sleep(10*time.Minute + time.Second)
		got := []int{f.a.count(), f.b.count(), f.c.count(), f.ecb.count()}
		if diff := cmp.Diff([]int{21, 21, 16, 3}, got); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		f.ecb.set("EUR-USD", "1.08")
		time.Sleep(5 * time.Minute)
		before := f.ecb.count()
		time.Sleep(4*time.Hour - time.Minute)
		if got := f.ecb.count(); got != before {
			t.Errorf("%d requests of the daily table within four hours", got-before+1)
		}
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run ended with %v", err)
		}
	})
}

func TestRun_polls_the_reference_more_often_when_a_table_is_due(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // the bubble begins on Saturday, 1 January 2000
		f := newFixture()
		f.Now = time.Now
		f.ecb.set("EUR-USD", "1.08")
		f.ecb.tickers[0].Time = time.Date(1999, 12, 31, 15, 0, 0, 0, time.UTC)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- f.Run(ctx) }()
		time.Sleep(2 * 24 * time.Hour) // until Monday
		synctest.Wait()
		if got := f.ecb.count(); got > 13 {
			t.Errorf("days without a new table: %d requests, want one in 4 hours", got)
		}
		time.Sleep(20 * time.Hour) // a table is due since 15:00
		synctest.Wait()
		before := f.ecb.count()
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := f.ecb.count() - before; got != 4 {
			t.Errorf("while a table is due: %d requests in an hour, want 4", got)
		}
		stop()
		<-done
	})
}

func TestRun_observes_Retry_After(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		status int
		header string
		want   int32 // requests within an hour
	}{
		{"429 with seconds", http.StatusTooManyRequests, "600", 6},
		{"418 without seconds", http.StatusTeapot, "", 60},
		{"a negative number", http.StatusTooManyRequests, "-5", 60},
		{"an overflowing number", http.StatusTooManyRequests, "99999999999999999999", 60},
		{"a year", http.StatusTooManyRequests, "31536000", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var requests atomic.Int32
				client := rates.NewClient()
				client.Transport = roundTripperFunc(func(*http.Request) (*http.Response, error) {
					requests.Add(1)
					return &http.Response{StatusCode: tt.status, Header: http.Header{"Retry-After": {tt.header}}, Body: http.NoBody}, nil
				})
				table := rates.NewTable(rates.Config{
					Exchanges: []rates.Source{rates.NewBinance(client, "http://binance.test")},
					Every:     30 * time.Second, Now: time.Now, Log: slog.New(slog.DiscardHandler),
					Jitter: func(d time.Duration) time.Duration { return d },
				})
				ctx, stop := context.WithTimeout(t.Context(), time.Hour-time.Second)
				defer stop()
				if err := table.Run(ctx); err != nil || requests.Load() != tt.want {
					t.Errorf("%d requests (%v), want %d", requests.Load(), err, tt.want)
				}
			})
		})
	}
}

func TestJitter_stays_within_a_fifth(t *testing.T) {
	t.Parallel()
	seen := map[time.Duration]bool{}
	for range 1000 {
		wait := rates.Jitter(30 * time.Second)
		if wait < 24*time.Second || wait > 36*time.Second {
			t.Fatalf("Jitter(30s) = %s, want 24s to 36s", wait)
		}
		seen[wait] = true
	}
	if len(seen) < 100 || rates.Jitter(0) != 0 {
		t.Errorf("%d different waits of 1000", len(seen))
	}
}

func TestStep_reports_faults_and_keeps_valid_tickers(t *testing.T) {
	t.Parallel()
	f := newFixture()
	f.a.set("BTC-EUR", "80000")
	f.b.set("BTC-EUR", "80000")
	f.b.err = errors.New("LTC-EUR: not in the answer")
	f.ecb.setError(errors.New("closed"))
	err := f.Step(t.Context())
	if err == nil || err.Error() != "fetch b: LTC-EUR: not in the answer\nfetch ecb: closed" {
		t.Errorf("error is %v", err)
	}
	if got := f.price("BTC", money.BTC, money.EUR); got != "80000" {
		t.Errorf("price is %s", got)
	}
}

func TestLog_reports_only_changes(t *testing.T) {
	t.Parallel()
	f := newFixture()
	var out bytes.Buffer
	f.Log = slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	changeAndStep := func(set func()) { // each change must be logged once in three steps
		set()
		for range 3 {
			_ = f.Step(t.Context())
		}
	}
	f.b.set("BTC-EUR", "80000")
	f.c.set("BTC-EUR", "80000")
	f.ecb.set("EUR-USD", "1.08")
	_ = f.Step(t.Context())
	out.Reset()
	changeAndStep(func() { f.a.set("BTC-EUR", "80000") })
	changeAndStep(func() { f.a.setError(errors.New("gone")) })
	changeAndStep(func() { f.a.set("BTC-EUR", "80000000") })
	changeAndStep(func() { f.a.set("BTC-EUR", "80000") })
	want := []string{
		`level=INFO msg="rate source answers" source=a pairs=1`,
		`level=WARN msg="rate source does not answer" source=a error=gone`,
		`level=INFO msg="rate source answers" source=a pairs=1`,
		`level=WARN msg="rate source contradicts the others" source=a pairs=BTC-EUR`,
		`level=INFO msg="rate source agrees with the others" source=a`,
	}
	if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(out.String()), "\n")); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestTable_is_safe_for_concurrent_use_and_does_not_block(t *testing.T) {
	t.Parallel()
	f := newFixture()
	f.a.set("BTC-EUR", "80000", "EUR-USD", "1.08")
	f.b.set("BTC-EUR", "80000", "EUR-USD", "1.08")
	_ = f.Step(t.Context())
	f.c.block = make(chan struct{})
	stepped := make(chan error, 1)
	go func() { stepped <- f.Step(t.Context()) }()
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			for range 200 {
				if got := f.price("BTC", money.BTC, money.USD); got != "86400" {
					t.Errorf("price is %s", got)
				}
				f.Report()
				f.View().Evidence(money.EUR, "BTC", "EURC")
			}
		})
	}
	asking.Go(func() {
		for range 20 {
			f.a.set("BTC-EUR", "80000", "EUR-USD", "1.08")
		}
	})
	asking.Wait() // c has not answered yet
	close(f.c.block)
	<-stepped
}

// roundTripperFunc is a transport without a network.
type roundTripperFunc func(*http.Request) (*http.Response, error)

func (t roundTripperFunc) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// answer returns a response with status 200 and a body.
func answer(body []byte) *http.Response {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body))}
}
