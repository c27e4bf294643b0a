// Package bench_test measures the program. The baseline of a ratio is measured in the same run on the same
// machine, because ratios are stable when the machine's speed is not. Most benchmarks build the
// program, serve it on this machine and call it over HTTP. Run them with -benchtime 1x, as make bench does:
// they repeat their work themselves.
package bench_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// settings are read from the environment when benchmarks run.
var settings struct {
	span     time.Duration // duration of each load
	stored   int           // largest number of stored invoices
	postgres string        // URL of a PostgreSQL database whose user may create databases; "" measures SQLite only
	folder   string        // for the built program
}

func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.bench").Value.String() == "" {
		m.Run()
		return
	}
	if err := readSettings(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	defer os.RemoveAll(settings.folder)
	fmt.Printf("loadavg: %s\nspan: %s\n", loadAverage(), settings.span)
	m.Run()
	fmt.Printf("loadavg-at-end: %s\n", loadAverage())
}

// readSettings reads the settings from the environment, and creates the folder for the built program.
func readSettings() (err error) {
	if settings.span, err = time.ParseDuration(cmp.Or(os.Getenv("BENCH_FOR"), "5s")); err != nil {
		return fmt.Errorf("BENCH_FOR: %w", err)
	}
	if settings.stored, err = strconv.Atoi(cmp.Or(os.Getenv("BENCH_STORED"), "100000")); err != nil {
		return fmt.Errorf("BENCH_STORED: %w", err)
	}
	settings.postgres = os.Getenv("BENCH_POSTGRES")
	settings.folder, err = os.MkdirTemp("", "bench")
	return err
}

// build builds the program that is measured, and returns its path.
var build = sync.OnceValues(func() (string, error) {
	path := filepath.Join(settings.folder, "chequer")
	out, err := exec.Command("go", "build", "-o", path, "chequer/cmd/chequer").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build: %w: %s", err, out)
	}
	return path, nil
})

// measure runs a sub-benchmark with the figures that run reports. It omits the time of an iteration.
func measure(b *testing.B, name string, run func(b *testing.B)) {
	b.Helper()
	b.Run(name, func(b *testing.B) {
		for b.Loop() {
			run(b)
		}
		b.ReportMetric(0, "ns/op")
	})
}

// reportRatio reports a baseline and the ratio of a figure to it.
func reportRatio(b *testing.B, unit string, figure, baseline float64) {
	b.Helper()
	b.ReportMetric(baseline, "baseline"+unit)
	b.ReportMetric(figure/baseline, "ratio")
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

func mebibytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }
