package bench_test

import (
	"os"
	"os/exec"
	"testing"
)

// TestGrowth_fits_the_database runs the benchmark of stored invoices with few of them. It fails if the copies of
// invoices do not fit the tables of the program.
func TestGrowth_fits_the_database(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self, "-test.run=^$", "-test.bench=^BenchmarkGrowth$", "-test.benchtime=1x", "-test.timeout=5m")
	c.Env = append(os.Environ(), "BENCH_STORED=200", "BENCH_FOR=1ms")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}
