package config_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"chequer/internal/config"
)

var update = flag.Bool("update", false, "write the table of settings into the manual")

// TestManual_table_lists_every_setting compares the manual's table of settings with the settings. With -update it
// writes the table.
func TestManual_table_lists_every_setting(t *testing.T) {
	t.Parallel()
	const file = "../manual/configuration.md"
	const begin, end = "<!-- settings: generated -->\n", "<!-- end of settings -->"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, hasBegin := strings.Cut(string(text), begin)
	got, after, hasEnd := strings.Cut(rest, end)
	if !hasBegin || !hasEnd {
		t.Fatalf("%s has no place for the table", file)
	}
	want := settingsTable(t)
	switch {
	case got == want:
	case *update:
		if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is stale: run go generate ./internal/manual\n%s", file, want)
	}
}

// settingsTable returns the settings as a table in Markdown.
func settingsTable(t *testing.T) string {
	t.Helper()
	c, err := config.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| setting | default | meaning |\n|---|---|---|\n")
	for _, s := range c.Settings() {
		value := "none"
		if s.Value != "" {
			value = "`" + s.Value + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", s.Name, value, strings.ReplaceAll(s.About, "|", `\|`))
	}
	return b.String()
}
