// Bench measures the whole program and prints a table. Each figure has a baseline of the same run
// on the same machine, because ratios are stable when the machine's speed is not. Bench builds the
// program, serves it on this machine and calls it over HTTP.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"
)

func main() {
	span := flag.Duration("for", 5*time.Second, "how long each load runs")
	postgres := flag.String("postgres", os.Getenv("BENCH_POSTGRES"), "address of an empty PostgreSQL database to measure too")
	only := flag.Bool("watching", false, "measure only the search for payments")
	told := flag.Bool("callbacks", false, "measure only callbacks and the feed")
	page := flag.Bool("arriving", false, "measure only how long a payment takes from its block to the page")
	stored := flag.Int("growth", 100_000, "largest number of stored invoices that the growth is measured with; 0 leaves it out")
	grows := flag.Bool("growing", false, "measure only how cost grows with the number of stored invoices")
	short := flag.Bool("short", false, "fill the feed with a tenth of its million events")
	flag.Parse()
	feed := feedEvents
	if *short {
		feed /= 10
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, plan{
		span: *span, postgres: *postgres, watching: !*told && !*page && !*grows, serving: !*only && !*told && !*page && !*grows,
		telling: !*only && !*page && !*grows, arriving: !*only && !*told && !*grows, growing: !*only && !*told && !*page, feed: feed, stored: *stored,
	}); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// plan is the measurements of a run.
type plan struct {
	span                       time.Duration
	postgres                   string
	watching, serving, telling bool
	arriving                   bool
	growing                    bool
	feed                       int // number of events in the feed
	stored                     int // number of stored invoices
}

func run(ctx context.Context, plan plan) error {
	folder, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	fmt.Printf("%s, load %s, each load %s\n\n", time.Now().UTC().Format("2006-01-02 15:04"), loadAverage(), plan.span)
	if plan.watching {
		if err := watching(ctx, folder+"/watching"); err != nil {
			return fmt.Errorf("watching: %w", err)
		}
		fmt.Println()
	}
	if !plan.serving && !plan.telling && !plan.arriving && !plan.growing {
		return nil
	}
	binary, err := build(ctx, folder)
	if err != nil {
		return err
	}
	if plan.arriving {
		if err := arriving(ctx, binary, folder+"/arriving"); err != nil {
			return fmt.Errorf("from block to page: %w", err)
		}
	}
	if plan.growing && plan.stored > 0 {
		if err := growth(ctx, binary, folder, "SQLite", func() (string, error) { return "", nil }, growthSizes(plan.stored), plan.span); err != nil {
			return fmt.Errorf("growth: %w", err)
		}
		fmt.Println()
	}
	if !plan.serving && !plan.telling {
		return nil
	}
	engines := []struct{ name, url string }{{"SQLite", ""}}
	if plan.postgres != "" {
		engines = append(engines, struct{ name, url string }{"PostgreSQL", plan.postgres})
	}
	for _, e := range engines {
		if err := measure(ctx, binary, folder, e.name, e.url, plan); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	fmt.Printf("\nload %s at the end\n", loadAverage())
	return nil
}

// measure prints the figures of one database engine.
func measure(ctx context.Context, binary, folder, engine, url string, plan plan) error {
	fmt.Printf("### %s\n\n| what | figure | baseline of this run | ratio |\n|---|---|---|---|\n", engine)
	p, err := serve(ctx, binary, folder+"/"+engine, url)
	if err != nil {
		return err
	}
	defer p.stop()
	fmt.Printf("| start with an existing database | %.0f ms | | |\n", milliseconds(p.started))
	fmt.Printf("| memory when idle | %d MiB | | |\n", p.memory()>>20)
	if plan.telling {
		if err := p.tell(ctx, binary, plan); err != nil {
			return err
		}
	}
	if plan.serving {
		return p.sell(ctx, plan.span)
	}
	return nil
}

// sell prints how fast invoices are created, and the cost of pages.
func (p *program) sell(ctx context.Context, span time.Duration) error {
	constant, err := constantHandler(ctx, span)
	if err != nil {
		return err
	}
	for _, clients := range []int{1, 32} {
		got, err := load(ctx, clients, span, p.create)
		if err != nil {
			return err
		}
		base := constant[clients]
		fmt.Printf("| invoices created, %d clients | %s | constant response %.0f/s | %.2f |\n", clients, got, base.perSecond(), got.perSecond()/base.perSecond())
		if err := compareRaw(ctx, p, clients, got, span); err != nil {
			return err
		}
	}
	fmt.Printf("| memory afterwards | %d MiB | | |\n", p.memory()>>20)
	return p.pages(ctx, span)
}

// compareRaw prints how fast the same rows are written without the program.
func compareRaw(ctx context.Context, p *program, clients int, got latencies, span time.Duration) error {
	group := 1
	if clients > 1 {
		group = clients
	}
	rate, err := p.writeRaw(ctx, group, span)
	if err != nil {
		return err
	}
	fmt.Printf("| &nbsp; the same rows without the program, %d per commit | %.0f/s | %.0f/s | %.2f |\n", group, got.perSecond(), rate, got.perSecond()/rate)
	return nil
}

// loadAverage returns the machine's load average of the last minute.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	one, _, _ := strings.Cut(string(text), " ")
	return one
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
