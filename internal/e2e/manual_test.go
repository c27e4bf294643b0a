package e2e_test

import (
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"chequer/internal/programtest"
)

// shellBlocks returns the code blocks of a Markdown file that are marked sh.
func shellBlocks(markdown string) []string {
	var blocks []string
	for part := range strings.SplitSeq("\n"+markdown, "\n```sh\n") {
		blocks = append(blocks, strings.SplitN(part, "```", 2)[0])
	}
	return blocks[1:]
}

// TestManual_commands_work runs the code blocks marked sh of the README and of each page of the manual
// against a demo shop of its own, in order and in one shell that stops at the first failure.
func TestManual_commands_work(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"bash", "curl", "openssl"} {
		programtest.RequireProgram(t, tool)
	}
	files, err := filepath.Glob("../manual/*.md")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	t.Run("files", func(t *testing.T) { // returns after all parallel subtests
		for _, file := range append(files, "../../README.md") {
			blocks := shellBlocks(string(readFile(t, file)))
			if len(blocks) == 0 {
				continue
			}
			ran++
			t.Run(filepath.Base(file), func(t *testing.T) {
				t.Parallel()
				runInDemo(t, strings.Join(blocks, "\n"))
			})
		}
	})
	if ran < 8 {
		t.Errorf("ran commands of %d files only", ran)
	}
}

// runInDemo runs a script in a directory of its own, with a running demo shop and the settings
// that reach it.
func runInDemo(t *testing.T, script string) {
	t.Helper()
	listen, folder := freeAddress(t), t.TempDir()
	p := &process{t: t, url: "http://" + listen, environ: []string{
		"PATH=" + filepath.Dir(binary(t)) + ":" + os.Getenv("PATH"), "HOME=" + folder,
		"CHEQUER_LISTEN=" + listen, "CHEQUER_DATA_DIR=" + filepath.Join(folder, "data"),
	}}
	p.demo()
	logo, err := os.Create(filepath.Join(folder, "logo.png"))
	if err != nil {
		t.Fatal(err)
	}
	if err := png.Encode(logo, image.NewGray(image.Rect(0, 0, 64, 64))); err != nil {
		t.Fatal(err)
	}
	if err := logo.Close(); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "bash", "-e", "-o", "pipefail", "-c", script)
	c.Dir, c.Env = folder, append(p.environ, "CHEQUER_BASE_URL="+p.url, "CHEQUER_API_KEY="+p.key.Key, "CHEQUER_API_SECRET="+p.key.Secret)
	output, err := c.CombinedOutput()
	if err != nil || strings.Contains(string(output), `"statusCode"`) {
		t.Errorf("%v\n%s\n%s", err, script, output)
	}
}
