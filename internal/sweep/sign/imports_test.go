package sign_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// unwanted are packages that reach a network or start a program.
var unwanted = []string{"net", "net/http", "net/rpc", "os/exec", "plugin", "crypto/tls"}

func TestImports_reach_no_network(t *testing.T) {
	t.Parallel()
	for goos, packages := range map[string][]string{
		"linux":   {".", "../plan", "../offline"},
		"darwin":  {".", "../plan", "../offline"},
		"windows": {".", "../plan"}, // package term, which offline needs, imports net on Windows for its types
	} {
		command := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps"}, packages...)...)
		command.Env = append(command.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
		output, err := command.Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		list := strings.Fields(string(output))
		if !slices.Contains(list, "crypto/pbkdf2") || !slices.Contains(list, "chequer/internal/evm") {
			t.Errorf("%s: go list did not list the imports: %q", goos, list)
		}
		for _, path := range unwanted {
			if slices.Contains(list, path) {
				t.Errorf("%s: the packages that sign import %s", goos, path)
			}
		}
	}
}
