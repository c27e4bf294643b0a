package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"chequer/internal/config"
)

// settingName matches a whole CHEQUER_ name. The manual writes groups of names with an ellipsis or a
// placeholder, which do not match.
var settingName = regexp.MustCompile(`\bCHEQUER_[A-Z][A-Z0-9_]*[A-Z0-9]\b`)

// TestDocuments_name_real_settings checks that the CHEQUER_ names in the README, in the manual and
// in the examples are settings: an unknown name in the environment prevents the start of a server.
func TestDocuments_name_real_settings(t *testing.T) {
	t.Parallel()
	known := []string{}
	for _, setting := range (config.Config{}).Settings() {
		known = append(known, setting.Name)
	}
	files := documents(t)
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
				t.Errorf("%s names %s, which is not a setting", file, name)
			}
		}
	}
	if found == 0 {
		t.Error("no CHEQUER_ name was found")
	}
}

// documents returns the README and the pages of the manual.
func documents(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../internal/manual/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("the manual has %d pages, %v", len(files), err)
	}
	return append(files, "../../README.md")
}

// TestDocuments_name_real_commands checks the names and options of commands in each line of a code
// block that begins with chequer, and in each such command within a sentence.
func TestDocuments_name_real_commands(t *testing.T) {
	t.Parallel()
	block := regexp.MustCompile("(?ms)^```[a-z]*\n(.*?)^```$")
	inline := regexp.MustCompile("`(chequer [^`]+)`")
	found := 0
	for _, file := range documents(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, b := range block.FindAllStringSubmatch(string(text), -1) {
			lines = append(lines, strings.Split(b[1], "\n")...)
		}
		for _, m := range inline.FindAllStringSubmatch(string(text), -1) {
			lines = append(lines, strings.ReplaceAll(m[1], "\n", " "))
		}
		for _, line := range lines {
			if strings.HasPrefix(line, "chequer ") {
				found++
				if err := checkCommand(line); err != nil {
					t.Errorf("%s: %s: %v", file, line, err)
				}
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d commands were found", found)
	}
}

// checkCommand returns an error if a command line names a command or an option that does not exist.
func checkCommand(line string) error {
	line, _, _ = strings.Cut(line, " #")
	line, _, _ = strings.Cut(line, "<")
	words := strings.Fields(line)[1:]
	switch words[0] {
	case "COMMAND", "help", "--help": // cobra adds them when it runs
		return nil
	}
	c, rest, err := root(nil).Find(words)
	if err != nil {
		return err
	}
	if c.HasSubCommands() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		return fmt.Errorf("%s has no command %q", c.CommandPath(), rest[0])
	}
	for _, word := range rest {
		name, _, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		if strings.HasPrefix(word, "--") && c.Flag(name) == nil {
			return fmt.Errorf("%s has no option %s", c.CommandPath(), word)
		}
	}
	return nil
}
