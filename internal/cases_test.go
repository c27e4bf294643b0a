package internal_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The rows of CASES.md and the names of tests in them.
var (
	caseRow  = regexp.MustCompile(`^\| (C[0-9]{2}) \| (.+) \| (.+) \| (.+) \|$`)
	caseTest = regexp.MustCompile("^`([a-z0-9/]+): (Test[A-Za-z0-9_]+)(?:/([^`]+))?`$")
)

// TestCases_name_existing_tests checks that CASES.md has each case once and that the tests that it names
// exist.
func TestCases_name_existing_tests(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("CASES.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "| C") {
			continue
		}
		row := caseRow.FindStringSubmatch(line)
		if row == nil {
			t.Errorf("row %q is not a case, a fault, what Chequer does and tests", line)
			continue
		}
		id, does, tests := row[1], row[3], row[4]
		if seen[id] {
			t.Errorf("CASES.md has %s twice", id)
		}
		seen[id] = true
		if tests == "none" && strings.HasPrefix(does, "Not supported: ") {
			continue
		}
		for name := range strings.SplitSeq(tests, "`, `") {
			name = "`" + strings.Trim(name, "`") + "`"
			match := caseTest.FindStringSubmatch(name)
			if match == nil {
				t.Errorf("%s: %s is not written as package: Test/subtest", id, name)
				continue
			}
			if !hasTest(t, match[1], match[2], match[3]) {
				t.Errorf("%s: there is no test %s", id, name)
			}
		}
	}
	if len(seen) == 0 {
		t.Error("CASES.md has no rows")
	}
}

// hasTest reports whether the tests of a package declare a function and contain the name of its subtest: as a
// string, which may have spaces instead of underscores, or as the name of a script in testdata.
func hasTest(t *testing.T, pkg, function, subtest string) bool {
	t.Helper()
	declared, named := false, subtest == ""
	for _, root := range []string{".", ".."} {
		files, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			declared = declared || strings.Contains(string(source), "\nfunc "+function+"(")
			named = named || strings.Contains(strings.ReplaceAll(string(source), " ", "_"), `"`+subtest+`"`)
		}
		_, err = os.Stat(filepath.Join(root, pkg, "testdata", subtest+".txt"))
		named = named || err == nil
	}
	return declared && named
}
