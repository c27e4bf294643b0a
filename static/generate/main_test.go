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
	t.Run("embedded_files_match_their_sources", func(t *testing.T) {
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

func TestMinify_shortens_scripts_and_style_sheets(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ extension, source, want string }{
		"script":  {".js", "// a\n(function () { var long = f(`a  b`); g(long, long); })();", "(function(){var n=f(\"a  b\");g(n,n)})();"},
		"style":   {".css", "/* a */\na { color: var(--ink); }\n", "a{color:var(--ink)}"},
		"picture": {".svg", "<svg> </svg>", "<svg> </svg>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := minify(tt.source, tt.extension)
			if err != nil || string(got) != tt.want {
				t.Errorf("minify(%q) = %q, %v, want %q", tt.source, got, err, tt.want)
			}
		})
	}
	for extension, source := range map[string]string{".js": "f(", ".css": "a{color:{}"} {
		if got, err := minify(source, extension); err == nil {
			t.Errorf("minify(%q) = %q, want an error", source, got)
		}
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
