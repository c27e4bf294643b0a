package locale_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sourceFolders are the folders whose sources use the messages.
var sourceFolders = []string{"../../web", "../../web/desk/reports", "../../web/desk/sell", "../../web/desk/developers", "../../web/present", "../../web/desk", "../../web/desk/visit", "../../web/desk/signin", "../../web/desk/payments", "../../web/desk/team", "../../web/desk/settings", "../../web/desk/health", "../../web/desk/wallets", "../../web/desk/sweeps", "../../views", "../../views/desk", ".", "../notify"}

// methods are the methods that take the id of a message, and the placeholders that they fill in
// themselves. For Around the placeholder's name is the second argument.
var methods = map[string][]string{"Text": nil, "capitalized": nil, "Count": {"Count"}, "Around": nil}

var fileName = regexp.MustCompile(`\.(js|css|templ|go)$`)

// Every message is used, every id in the sources is a message, and every use fills in exactly the
// message's placeholders.
func TestMessages_are_used(t *testing.T) {
	t.Parallel()
	english := catalogues(t)["en"]
	families := map[string]bool{}
	for key := range english {
		family, _, _ := strings.Cut(key, ".")
		families[family] = true
	}
	used := map[string]bool{"language.name": true} // read by readName
	for _, file := range sources(t) {
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				checkCall(t, english, call)
			}
			if text, ok := literal(n); ok {
				family, rest, dotted := strings.Cut(text, ".")
				if _, known := english[text]; known {
					used[text] = true
				} else if dotted && rest != "" && families[family] && !fileName.MatchString(text) && !strings.ContainsAny(text, " /\n") {
					t.Errorf("%q has the form of a message id, but there is no such message", text)
				}
			}
			return true
		})
	}
	for key := range english {
		if !used[key] {
			t.Errorf("%s is never used", key)
		}
	}
}

// checkCall checks a call with a literal message id.
func checkCall(t *testing.T, english catalogue, call *ast.CallExpr) {
	t.Helper()
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return
	}
	given, isMethod := methods[selector.Sel.Name]
	id, ok := literal(call.Args[0])
	if !isMethod || !ok {
		return
	}
	message, known := english[id]
	if !known {
		t.Errorf("%s is used, but there is no such message", id)
		return
	}
	if _, isSingle := message.(string); isSingle == (selector.Sel.Name == "Count") {
		t.Errorf("%s is used with %s; it has plural forms: %t", id, selector.Sel.Name, !isSingle)
	}
	given = slices.Clone(given)
	pairs := call.Args[1:]
	if selector.Sel.Name == "Around" {
		name, _ := literal(pairs[0])
		given, pairs = append(given, name), pairs[1:]
	}
	if selector.Sel.Name == "Count" {
		pairs = pairs[1:]
	}
	for i := 0; i < len(pairs); i += 2 {
		name, _ := literal(pairs[i])
		given = append(given, name)
	}
	if want := placeholders(texts(message)["other"]); !slices.Equal(slices.Sorted(slices.Values(given)), want) {
		t.Errorf("%s is used with the placeholders %q, but has %q", id, given, want)
	}
}

func literal(n ast.Node) (string, bool) {
	lit, ok := n.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

// sources returns the parsed source files of users, without tests. Templates are covered by their
// generated code.
func sources(t *testing.T) []*ast.File {
	t.Helper()
	var files []*ast.File
	for _, folder := range sourceFolders {
		paths, err := fs.Glob(os.DirFS(folder), "*.go")
		if err != nil || len(paths) == 0 {
			t.Fatalf("no sources in %s: %v", folder, err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), folder+"/"+path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
	}
	return files
}
