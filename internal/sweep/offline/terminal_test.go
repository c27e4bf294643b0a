package offline

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// openFile returns a file with a content.
func openFile(t *testing.T, content string) *os.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestConsole_reads_lines_of_a_file(t *testing.T) {
	t.Parallel()
	c := Console{In: openFile(t, "first words\r\n\n488D"), Out: io.Discard}
	for _, want := range []string{"first words", ""} {
		if got, err := c.Secret(t.Context(), "?"); err != nil || string(got) != want {
			t.Errorf("Secret() = %q, %v, want %q", got, err, want)
		}
	}
	if got, err := c.Line(t.Context(), "?"); err != nil || got != "488D" {
		t.Errorf("Line() = %q, %v, want 488D", got, err)
	}
	if got, err := c.Line(t.Context(), "?"); !errors.Is(err, io.EOF) {
		t.Errorf("Line() = %q, %v, want io.EOF", got, err)
	}
}

func TestConsole_refuses_a_long_line(t *testing.T) {
	t.Parallel()
	c := Console{In: openFile(t, strings.Repeat("x", maxLine)+"\n"), Out: io.Discard}
	if _, err := c.Secret(t.Context(), "?"); !errors.Is(err, errLine) {
		t.Errorf("error = %v, want errLine", err)
	}
}
