package sign_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"chequer/internal/sweep/sign"
)

// hardened is the environment variable with which the test starts itself as the process that is examined.
const hardened = "SIGN_TEST_HARDENED"

func TestHarden_keeps_memory_out_of_dumps(t *testing.T) {
	if os.Getenv(hardened) != "" {
		printProtection(t)
		return
	}
	t.Parallel()
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestHarden_keeps_memory_out_of_dumps$")
	command.Env = append(os.Environ(), hardened+"=1")
	output, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	if !strings.Contains(string(output), "core limit 0 0, dumpable 0") {
		t.Errorf("the process has %s, want no core dump and no dumpable memory", output)
	}
	locked := !strings.Contains(string(output), "locked 0 kB")
	refused := strings.Contains(string(output), "Memory may be written to the swap space")
	if locked == refused {
		t.Errorf("the memory is locked: %t, the sentence says that it is not: %t\n%s", locked, refused, output)
	}
}

// printProtection protects this process and prints the result.
func printProtection(t *testing.T) {
	t.Helper()
	refused := sign.Harden()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil {
		t.Fatal(err)
	}
	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, locked, _ := strings.Cut(string(status), "VmLck:")
	fields := strings.Fields(locked)
	fmt.Printf("core limit %d %d, dumpable %d, locked %s kB, refused %q\n", limit.Cur, limit.Max, dumpable, fields[0], refused)
}
