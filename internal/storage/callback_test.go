package storage_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"chequer/internal/storage"
)

// Storage calls functions of its callers inside its transactions, such as the decision about an invoice.
// These callbacks get no context, since they only compute. With a context of the caller they could call
// storage, and the call would wait for the transaction that waits for the callback.
func TestCallbacks_use_no_context(t *testing.T) {
	t.Parallel()
	types := callbackTypes()
	for _, want := range []string{"Invoice", "NextIndex", "Wallet", "Endpoint", "Link", "Product", "ExchangeAccount", "Chain", "[]Method", "[]Account", "Ticket", "Attempts"} {
		if !slices.Contains(types, want) {
			t.Errorf("no callback of storage gets a %s", want)
		}
	}
	types = append(types, "Sale", "Settings") // parts of these types, for which callers of storage have callbacks
	root := filepath.Join("..", "..")
	checked := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		for _, callback := range callbacks(file, types) {
			checked++
			for _, at := range outerContexts(callback) {
				t.Errorf("%s: a function that storage may call inside a transaction uses a context", files.Position(at))
			}
		}
		return nil
	})
	if err != nil || checked < 20 {
		t.Errorf("checked %d callbacks, error %v", checked, err)
	}
}

// callbackTypes returns the names of the types that storage passes to functions of its callers.
func callbackTypes() (names []string) {
	add := func(callback reflect.Type) {
		for p := range callback.Ins() {
			var name string
			switch p.Kind() {
			case reflect.Pointer:
				name = p.Elem().Name()
			case reflect.Slice:
				name = "[]" + p.Elem().Name()
			default:
				name = p.Name()
			}
			names = append(names, name)
		}
	}
	for method := range reflect.TypeFor[*storage.Storage]().Methods() {
		for p := range method.Type.Ins() {
			switch {
			case p.Kind() == reflect.Func:
				add(p)
			case p.Kind() == reflect.Struct:
				for field := range p.Fields() {
					if field.Type.Kind() == reflect.Func {
						add(field.Type)
					}
				}
			}
		}
	}
	return names
}

// callbacks returns the function literals with a parameter of one of the given types.
func callbacks(file *ast.File, types []string) (found []*ast.FuncLit) {
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.FuncLit)
		if ok && slices.ContainsFunc(literal.Type.Params.List, func(p *ast.Field) bool { return slices.Contains(types, typeName(p.Type)) }) {
			found = append(found, literal)
		}
		return true
	})
	return found
}

// typeName returns the name of a type or of the type that a pointer points to, without its package.
// The name of a slice is [] and that of its element.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.ArrayType:
		return "[]" + typeName(e.Elt)
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// outerContexts returns the places where a function literal uses a context that is neither a parameter nor a
// part of a parameter.
func outerContexts(literal *ast.FuncLit) (found []token.Pos) {
	var parameters []string
	for _, p := range literal.Type.Params.List {
		if typeName(p.Type) == "Context" {
			return nil
		}
		for _, name := range p.Names {
			parameters = append(parameters, name.Name)
		}
	}
	ast.Inspect(literal.Body, func(n ast.Node) bool {
		if selected, ok := n.(*ast.SelectorExpr); ok && slices.Contains(parameters, typeName(selected.X)) {
			return false
		}
		if name, ok := n.(*ast.Ident); ok && (name.Name == "ctx" || name.Name == "Context" || name.Name == "context") {
			found = append(found, name.Pos())
		}
		return true
	})
	return found
}

func TestOuterContexts_finds_contexts_from_outside(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]int{
		"s.Update(ctx, func(inv *invoice.Invoice) error { return s.Read(ctx) })":                      1,
		"s.Update(ctx, func(l *Link) error { return s.Read(context.Background()) })":                  1,
		"s.Update(ctx, func(l *Link) error { return s.Read(r.Context()) })":                           1,
		"invoice.Creation{Build: func(next NextIndex) (*Invoice, error) { return build(ctx, next) }}": 1,
		"s.Update(ctx, func(inv *Invoice) error { inv.Clock++; return nil })":                         0,
		"each(ctx, func(ctx context.Context, inv *Invoice) error { return read(ctx, inv.ID) })":       0,
		"list(func(in call, e Link) error { return s.Remove(in.Context(), e.ID) })":                   0,
		"run(ctx, func() error { return s.Read(ctx) })":                                               0,
		"s.Open(ctx, func(methods []invoice.Method) { s.Read(ctx) })":                                 1,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p; var _ = "+source, 0)
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for _, callback := range callbacks(file, []string{"Invoice", "Link", "NextIndex", "[]Method"}) {
			got += len(outerContexts(callback))
		}
		if got != want {
			t.Errorf("%s: found %d uses, want %d", source, got, want)
		}
	}
}
