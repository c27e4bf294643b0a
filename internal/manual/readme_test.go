package manual_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"chequer/internal/manual"
)

// TestReadme_links_to_every_page_of_the_manual checks the README's size and its links to every page of the manual.
func TestReadme_links_to_every_page_of_the_manual(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 9_000 {
		t.Errorf("README.md has %d bytes, want at most 9,000: move the rest to the manual", len(text))
	}
	for _, link := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(string(text), -1) {
		if _, err := os.Stat(filepath.Join("../..", link[1])); err != nil {
			t.Errorf("README.md links to a file that does not exist: %v", err)
		}
	}
	for _, p := range manual.Pages() {
		if !strings.Contains(string(text), "(internal/manual/"+p.Slug+".md)") {
			t.Errorf("README.md has no link to the page %s", p.Slug)
		}
	}
}
