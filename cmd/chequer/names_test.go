package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"chequer/internal/config"
)

// settingName matches a whole CHEQUER_ name. README writes groups of names with an ellipsis or a
// placeholder, which do not match.
var settingName = regexp.MustCompile(`\bCHEQUER_[A-Z][A-Z0-9_]*[A-Z0-9]\b`)

// TestDocuments_name_real_settings checks that the CHEQUER_ names in README and in the examples are
// settings: an unknown name in the environment prevents the start of a server.
func TestDocuments_name_real_settings(t *testing.T) {
	t.Parallel()
	known := []string{}
	for _, setting := range (config.Config{}).Settings() {
		known = append(known, setting.Name)
	}
	files := []string{"../../README.md"}
	err := filepath.WalkDir("../../internal/api", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range settingName.FindAllString(string(text), -1) {
			found++
			if !slices.Contains(known, name) && !slices.Contains(known, strings.TrimSuffix(name, "_FILE")) {
				t.Errorf("%s names %s, which is no setting", file, name)
			}
		}
	}
	if found == 0 {
		t.Error("no CHEQUER_ name was found")
	}
}
