// Package programtest runs other programs for tests: it finds them, starts them so that they end
// with the test, and finds unused addresses for them.
package programtest

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// RequireProgram skips a test if a program is not installed; in CI the test fails. The program is a path, or
// a name that is searched in PATH.
func RequireProgram(t testing.TB, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		SkipUnlessCI(t, "%s is not installed", program)
	}
}

// SkipUnlessCI skips a test that lacks something on this machine; in CI the test fails.
func SkipUnlessCI(t testing.TB, format string, arguments ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, arguments...)
	}
	t.Skipf(format, arguments...)
}

// FetchedPath returns the path at which fetch.sh puts a program that apt-get does not have.
func FetchedPath(program string) string {
	cache := cmp.Or(os.Getenv("XDG_CACHE_HOME"), filepath.Join(os.Getenv("HOME"), ".cache"))
	return filepath.Join(cache, "chequer", "bin", program)
}
