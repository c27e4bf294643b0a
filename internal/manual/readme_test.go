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
		if p.Parent == "" && !strings.Contains(string(text), "(internal/manual/"+p.Slug+".md)") {
			t.Errorf("README.md has no link to the page %s", p.Slug)
		}
	}
}

// The page that has a group of pages links to each of them, and each of them to it.
func TestGroups_are_linked(t *testing.T) {
	t.Parallel()
	grouped := 0
	for _, p := range manual.Pages() {
		for _, q := range p.Group() {
			grouped++
			if !strings.Contains(p.Markdown(), "("+q.Slug+".md)") || !strings.Contains(q.Markdown(), "("+p.Slug+".md") {
				t.Errorf("%s and %s do not link to each other", p.Slug, q.Slug)
			}
			if q.Parent != p.Slug || len(q.Group()) > 0 {
				t.Errorf("%s has the parent %q and a group of %d pages", q.Slug, q.Parent, len(q.Group()))
			}
		}
	}
	if grouped != 10 {
		t.Errorf("%d pages are in a group, want 10", grouped)
	}
}
