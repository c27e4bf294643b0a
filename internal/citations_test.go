package internal_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// citation matches the name of a document, such as SETTLEMENT.md.
var citation = regexp.MustCompile(`[A-Za-z0-9_./-]*[A-Za-z0-9_]\.md\b`)

// TestCitations refuses a document, in a comment, a message or a page, that is not in the tree:
// a reader of the repository could not look it up.
func TestCitations(t *testing.T) {
	t.Parallel()
	names, sources := map[string]bool{}, []string{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "bin", "data", "testdata", "node_modules"}, d.Name()):
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		names[d.Name()] = true
		if slices.Contains([]string{".go", ".md", ".templ", ".sql", ".sh", ".js", ".css", ".yaml"}, filepath.Ext(path)) {
			sources = append(sources, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, path := range sources {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, cited := range citation.FindAllString(string(text), -1) {
			found++
			isURL := strings.HasPrefix(cited, "//")
			if !isURL && !names[filepath.Base(cited)] {
				t.Errorf("%s cites %s, which is not in the tree", path, cited)
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d citations were found", found)
	}
}
