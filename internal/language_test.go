package internal_test

import (
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// unclear are phrases that make a reader guess who does what: the merchant, the shopper,
// the caller, the deadline have names.
var unclear = regexp.MustCompile(`(?i)\b((no|some)body|whoever|what came|is how (an?|the|its?|they|we|this|that|one)|is what|are what|tells? (whether|how))\b`)

// TestLanguage/comments_and_messages_name_what_they_speak_of reads the comments of
// all Go files, and the strings of those that are part of the program.
func TestLanguage(t *testing.T) {
	t.Parallel()
	t.Run("comments_and_messages_name_what_they_speak_of", func(t *testing.T) {
		t.Parallel()
		for _, path := range tree(t, ".git") {
			if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_templ.go") || filepath.Base(path) == "language_test.go" {
				continue
			}
			for _, fault := range unclearIn(t, path) {
				t.Error(fault)
			}
		}
	})
}

// unclearIn returns where unclear phrases are in a Go file.
func unclearIn(t *testing.T, path string) (found []string) {
	t.Helper()
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	files := token.NewFileSet()
	if _, err := parser.ParseFile(files, path, source, parser.PackageClauseOnly); err != nil {
		t.Fatal(err)
	}
	file := files.AddFile(path, -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, scanner.ScanComments)
	for {
		at, kind, text := s.Scan()
		switch kind {
		case token.EOF:
			return found
		case token.COMMENT, token.STRING:
			if kind == token.STRING && strings.HasSuffix(path, "_test.go") {
				continue // names of keys and the like
			}
			if phrase := unclear.FindString(strings.Join(strings.Fields(strings.ReplaceAll(text, "\n//", "\n")), " ")); phrase != "" {
				found = append(found, files.Position(at).String()+": "+phrase)
			}
		}
	}
}
