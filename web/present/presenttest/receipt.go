package presenttest

import (
	"io"
	"os/exec"
	"strings"
	"testing"

	"chequer/internal/programtest"
)

// DocumentText returns the text that pdftotext extracts from a PDF. Without that program the test is
// skipped, but fails in CI.
func DocumentText(t *testing.T, body io.Reader) string {
	t.Helper()
	programtest.RequireProgram(t, "pdftotext")
	c := exec.CommandContext(t.Context(), "pdftotext", "-layout", "-", "-")
	c.Stdin = body
	output, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(output)), " ")
}
