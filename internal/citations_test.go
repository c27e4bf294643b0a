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

// TestCitations_name_files_of_the_repository checks that every Markdown file that a source or a document names is in the repository.
func TestCitations_name_files_of_the_repository(t *testing.T) {
	t.Parallel()
	names, sources := map[string]bool{}, []string{}
	for _, path := range tree(t, ".git", "bin", "data", "testdata", "node_modules") {
		names[filepath.Base(path)] = true
		if slices.Contains([]string{".go", ".md", ".templ", ".sql", ".sh", ".js", ".css", ".yaml"}, filepath.Ext(path)) {
			sources = append(sources, path)
		}
	}
	found := 0
	for _, path := range sources {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, cited := range citation.FindAllString(string(text), -1) {
			found++
			isURL := strings.HasPrefix(cited, "//") // the pattern does not match the colon of https://
			if !isURL && !names[filepath.Base(cited)] {
				t.Errorf("%s cites %s, which is not in the repository", path, cited)
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d citations were found", found)
	}
}

// tree returns the paths of the repository's files, without those in directories with the given
// names.
func tree(t *testing.T, skipped ...string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(skipped, d.Name()):
			return filepath.SkipDir
		case !d.IsDir():
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}
