package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/google/go-cmp/cmp"
)

func TestBuild(t *testing.T) {
	t.Parallel()
	built, err := build(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	generated := map[string][]byte{}
	for name := range built {
		if generated[name], err = os.ReadFile("../generated/" + name); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("no_other_file_is_embedded", func(t *testing.T) {
		t.Parallel()
		embedded, err := fs.Glob(os.DirFS("../generated"), "*")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(embedded, slices.Sorted(maps.Keys(built))); diff != "" {
			t.Errorf("embedded files (-got +want), run make generate:\n%s", diff)
		}
	})
	t.Run("embedded_files_are_fresh", func(t *testing.T) {
		t.Parallel()
		for name := range bundles {
			for ending, read := range map[string]func([]byte) ([]byte, error){"": plain, ".gz": unzip, ".br": unbrotli} {
				got, err := read(generated[name+ending])
				if err != nil || !bytes.Equal(got, built[name]) {
					t.Errorf("%s differs from its sources (%v): run make generate", name+ending, err)
				}
			}
		}
	})
}

func TestLeanScript(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ source, want string }{
		"comments":           {"// one\n  // two\nf(); // three\ng();", "f();g();"},
		"strings":            {`f("a  //  b", "\" c")`, `f("a  //  b","\" c")`},
		"templates":          {"f(`a  b`)", "f(`a  b`)"},
		"regular_expression": {"f(/a  \"b/g, 1)", "f(/a  \"b/g,1)"},
		"words":              {"return new  Date", "return new Date"},
		"signs":              {"a + +b - -c - d", "a+ +b- -c-d"},
		"line_breaks":        {"var a = {\n  b: 1,\n  c: 2\n}\nf()\n", "var a={b:1,c:2}\nf()"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := leanScript(tt.source); got != tt.want {
				t.Errorf("leanScript(%q) = %q, want %q", tt.source, got, tt.want)
			}
		})
	}
}

func plain(b []byte) ([]byte, error) { return b, nil }

func unzip(b []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

func unbrotli(b []byte) ([]byte, error) { return io.ReadAll(brotli.NewReader(bytes.NewReader(b))) }
