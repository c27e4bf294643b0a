package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
)

// latencies holds the duration of each request of a load.
type latencies struct {
	each []time.Duration
	span time.Duration
}

func (l latencies) perSecond() float64 { return float64(len(l.each)) / l.span.Seconds() }

// at returns the latency that a share of the requests did not exceed, in milliseconds.
func (l latencies) at(share float64) float64 {
	return milliseconds(l.each[min(int(share*float64(len(l.each))), len(l.each)-1)])
}

// String returns the rate, and the 50th, 95th and 99th percentiles.
func (l latencies) String() string {
	return fmt.Sprintf("%.0f/s, p50 %.1f, p95 %.1f, p99 %.1f ms", l.perSecond(), l.at(.5), l.at(.95), l.at(.99))
}

// load lets clients repeat a request for a duration, each without pause.
func load(ctx context.Context, clients int, span time.Duration, request func(context.Context) error) (latencies, error) {
	ctx, cancel := context.WithTimeout(ctx, span+30*time.Second)
	defer cancel()
	var mu sync.Mutex
	var all []time.Duration
	var fault error
	begin := time.Now()
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			var mine []time.Duration
			for time.Since(begin) < span {
				at := time.Now()
				if err := request(ctx); err != nil {
					mu.Lock()
					fault = err
					mu.Unlock()
					break
				}
				mine = append(mine, time.Since(at))
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, mine...)
		})
	}
	group.Wait()
	if fault != nil {
		return latencies{}, fault
	}
	slices.Sort(all)
	return latencies{each: all, span: time.Since(begin)}, nil
}

// browser is the HTTP client of every load. It keeps connections open.
var browser = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024}, Timeout: 30 * time.Second}

// constantHandler measures an Echo handler with a constant response: the best that the machine and
// the load generator allow. The result is keyed by the number of clients.
func constantHandler(ctx context.Context, span time.Duration) (map[int]latencies, error) {
	e := echo.New()
	answer := make([]byte, 1500)
	e.POST("/", func(c echo.Context) error { return c.Blob(http.StatusOK, "application/json", answer) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: e}
	go server.Serve(l)
	defer server.Close()
	results := map[int]latencies{}
	for _, clients := range []int{1, 32} {
		results[clients], err = load(ctx, clients, span, func(ctx context.Context) error {
			return post(ctx, "http://"+l.Addr().String()+"/", []byte(body), nil)
		})
		if err != nil {
			return nil, err
		}
	}
	return results, nil
}
