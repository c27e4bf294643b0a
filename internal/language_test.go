package internal_test

import (
	"fmt"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// unclear are phrases that hide the subject of a sentence (the merchant, the shopper, the caller and
// the deadline have names), words that the glossary in README.md replaces, and error values after a
// semicolon instead of a sentence: "It returns ErrNotFound if …".
var unclear = regexp.MustCompile(`(?i)\b((no|some)body|whoever|what came|what is left` +
	`|is how (an?|the|its?|they|we|this|that|one)|is what|are what` +
	`|tells? (whether|how)|says? (so|whether)|(is|are) told` +
	`|ours|theirs|our own|(an|the) own|all the same|worth nothing|ways? of paying|goes? home` +
	`|dashboard|zero look)\b|; \*?(\w+\.)?(?-i:Err[A-Z])\w*`)

// Forms of comments in files that are not Go.
var (
	hashComment  = regexp.MustCompile(`(?m)(?:^|\s)#.*`)
	dashComment  = regexp.MustCompile(`--.*`)
	slashComment = regexp.MustCompile(`//.*|(?s:/\*.*?\*/)`)
	wholeFile    = regexp.MustCompile(`.+`)
)

// commentPatterns are the forms of comments by the end of a file's name. YAML files are read whole: the
// texts of openapi.yaml are the reference of the API.
var commentPatterns = map[string]*regexp.Regexp{
	".sql": dashComment,
	".txt": hashComment, ".sh": hashComment, ".py": hashComment, "Makefile": hashComment, "Dockerfile": hashComment, ".ci/run": hashComment,
	".js": slashComment, ".mjs": slashComment, ".css": slashComment, ".templ": slashComment, ".php": slashComment, ".sol": slashComment,
	".yaml": wholeFile, ".yml": wholeFile,
}

// TestLanguage checks that there are no unclear phrases in the comments of all files, and in the strings
// of the Go files that are part of the program.
func TestLanguage(t *testing.T) {
	t.Parallel()
	t.Run("comments_and_messages_name_their_subjects", func(t *testing.T) {
		t.Parallel()
		read := map[string]int{}
		for _, path := range tree(t, ".git", "bin", "data", "font", "generated", "node_modules") {
			switch base := filepath.Base(path); {
			case strings.HasSuffix(path, "_templ.go") || base == "language_test.go":
				continue
			case filepath.Ext(path) == ".txt" && !strings.Contains(path, "testdata"):
				continue
			}
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			list, end := passages(t, path, source)
			read[end] += len(list)
			for _, p := range list {
				if found := p.find(); found != "" {
					t.Errorf("%s:%s", path, found)
				}
			}
		}
		for _, end := range []string{".go", ".sql", ".txt", ".sh", ".js", ".css", ".templ", ".yml", ".yaml", "Makefile"} {
			if read[end] == 0 {
				t.Errorf("no comment of a %s file was read", end)
			}
		}
	})
	for name, tt := range map[string]struct{ path, source, want string }{
		"a_comment_of_Go":              {"a.go", "package a\n\n// F tells\n// whether it is open.\nfunc F() {}\n", "3: tells whether"},
		"an_error_without_a_sentence":  {"a.go", "package a\n\n// F reads a;\n// chain.ErrNone.\nfunc F() {}\n", "3: ; chain.ErrNone"},
		"a_string_of_the_program":      {"a.go", "package a\n\nconst s = \"nobody pays\"\n", "3: nobody"},
		"a_string_of_a_test":           {"a_test.go", "package a\n\nconst s = \"nobody\"\n", ""},
		"a_script":                     {"testdata/a.txt", "exec chequer\n# this is what\n# is sent\nstdout 'is what'\n", "2: is what"},
		"a_migration":                  {"a.sql", "CREATE TABLE a (b TEXT); -- somebody paid\n", "1: somebody"},
		"a_shell_script":               {"a.sh", "#!/bin/sh\necho \"is what\" # the peers are\n# told\n", "2: are told"},
		"a_script_of_a_page":           {"a.js", "let a = 'is what'\n/* theirs\n */\n", "2: theirs"},
		"a_style_sheet":                {"a.css", "a {}\n/* the second\n   is what counts */\n", "3: is what"},
		"a_template":                   {"a.templ", "package views\n// our own page\n", "2: our own"},
		"a_description_of_the_API":     {"openapi.yaml", "a:\n  description: In the dashboard.\n", "2: dashboard"},
		"a_comment_across_other_lines": {"a.go", "package a\n\n// F tells\nfunc F() {}\n\n// whether\n", ""},
	} {
		t.Run("reads/"+name, func(t *testing.T) {
			t.Parallel()
			got := ""
			list, _ := passages(t, tt.path, []byte(tt.source))
			for _, p := range list {
				got += p.find()
			}
			if got != tt.want {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}

// passage is a text without line breaks, such as the text of comments on adjoining lines.
type passage struct {
	text  string
	lines []position
}

// position is the number of a line, and where its text begins in a passage.
type position struct{ offset, line int }

// find returns the first unclear phrase of a passage with the number of its line, or "".
func (p passage) find() string {
	at := unclear.FindStringIndex(p.text)
	if at == nil {
		return ""
	}
	line := 0
	for _, l := range p.lines {
		if l.offset <= at[0] {
			line = l.line
		}
	}
	return fmt.Sprintf("%d: %s", line, p.text[at[0]:at[1]])
}

// passages returns the texts of a file that are checked, and the end of the file's name by which their
// form is known.
func passages(t *testing.T, path string, source []byte) (list []passage, end string) {
	t.Helper()
	last := -1 // last line of the newest passage
	add := func(line int, text string) {
		for i, part := range strings.Split(text, "\n") {
			part = strings.Join(strings.Fields(strings.TrimLeft(part, "/#-* \t")), " ")
			if line+i > last+1 {
				list = append(list, passage{})
			}
			p := &list[len(list)-1]
			p.lines = append(p.lines, position{len(p.text), line + i})
			p.text, last = p.text+part+" ", line+i
		}
	}
	if strings.HasSuffix(path, ".go") {
		goPassages(t, path, source, add)
		return list, ".go"
	}
	for end, form := range commentPatterns {
		if !strings.HasSuffix(path, end) {
			continue
		}
		for _, at := range form.FindAllIndex(source, -1) {
			text := strings.TrimLeft(string(source[at[0]:at[1]]), "\n")
			add(1+strings.Count(string(source[:at[1]-len(text)]), "\n"), text)
		}
		return list, end
	}
	return nil, ""
}

// goPassages calls add with the comments of a Go file and, unless it is a test, with its strings.
func goPassages(t *testing.T, path string, source []byte, add func(line int, text string)) {
	t.Helper()
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
			return
		case token.COMMENT, token.STRING:
			if kind == token.COMMENT || !strings.HasSuffix(path, "_test.go") { // the strings of tests are test data
				add(file.Line(at), text)
			}
		}
	}
}
