package static_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"

	"chequer/static"
)

func TestPath_leads_to_the_asset_with_its_hash(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"pay.css", "store.css", "pay.js", "wallet.js", "embed.js", "modal.js", "frame.js", "builder.js", "desk.css", "desk.js", "icon.svg"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := static.Path(name)
			if !regexp.MustCompile(`^/static/[a-z]+\.[0-9a-f]{12}\.(css|js|svg)$`).MatchString(path) {
				t.Errorf("Path(%q) = %q, want the name with a hash", name, path)
			}
			asset, ok := static.Find(path)
			if !ok {
				t.Fatalf("Find(%q) found nothing", path)
			}
			if asset.ContentType == "" {
				t.Error("no content type")
			}
			if got := unzip(t, asset.Gzip); !bytes.Equal(got, asset.Body) {
				t.Error("the gzip form does not decompress to the body")
			}
			if got, err := io.ReadAll(brotli.NewReader(bytes.NewReader(asset.Brotli))); err != nil || !bytes.Equal(got, asset.Body) {
				t.Errorf("the Brotli form does not decompress to the body: %v", err)
			}
			if len(asset.Brotli) >= len(asset.Gzip) {
				t.Errorf("Brotli form has %d bytes, gzip form %d, want Brotli smaller", len(asset.Brotli), len(asset.Gzip))
			}
		})
	}
}

func TestFind_requires_the_complete_path(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", "/static/", "/static/pay.css", "/static/base.css", static.Path("pay.css") + "/"} {
		if _, ok := static.Find(path); ok {
			t.Errorf("Find(%q) found an asset, want none", path)
		}
	}
}

// A style sheet with appended text has another path.
func TestExtend_appends_text_under_another_path(t *testing.T) {
	t.Parallel()
	base, _ := static.Find(static.Path("pay.css"))
	a, b := static.Extend("pay.css", ":root{--accent:red}"), static.Extend("pay.css", ":root{--accent:blue}")
	if a.Path == base.Path || a.Path == b.Path || !strings.HasSuffix(string(a.Body), ":root{--accent:red}") {
		t.Errorf("%s, %s and %s", base.Path, a.Path, b.Path)
	}
	if got, err := io.ReadAll(brotli.NewReader(bytes.NewReader(a.Brotli))); err != nil || !bytes.Equal(got, a.Body) {
		t.Errorf("the Brotli form does not decompress to the body: %v", err)
	}
	if !bytes.Equal(unzip(t, a.Gzip), a.Body) || !bytes.HasPrefix(a.Body, base.Body) || a.ContentType != base.ContentType {
		t.Error("the result is not the style sheet with the text appended")
	}
	if reread, _ := static.Find(static.Path("pay.css")); !bytes.Equal(reread.Body, base.Body) {
		t.Error("the style sheet itself has changed")
	}
}

// The content policy allows no style or script from another site, and a style sheet that imports
// another blocks the page for longer.
func TestAssets_load_nothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"pay.css", "store.css", "pay.js", "wallet.js", "embed.js", "modal.js", "frame.js", "builder.js", "desk.css", "desk.js"} {
		asset, _ := static.Find(static.Path(name))
		for _, word := range []string{"@import", "url(", "http:", "https:", "eval(", "innerHTML"} {
			if strings.Contains(string(asset.Body), word) {
				t.Errorf("%s contains %q", name, word)
			}
		}
	}
}

// The sizes of the three files that a payment page loads have one limit. It is larger for the script
// with browser wallets.
func TestAssets_of_a_payment_page_are_small(t *testing.T) {
	t.Parallel()
	for script, budget := range map[string]int{"pay.js": 8 << 10, "wallet.js": 9 << 10} {
		sum := 0
		for _, name := range []string{"pay.css", script, "icon.svg"} {
			asset, _ := static.Find(static.Path(name))
			sum += len(asset.Gzip)
		}
		if sum > budget {
			t.Errorf("assets of the payment page with %s have %d bytes compressed, want at most %d", script, sum, budget)
		}
	}
}

// The scripts that merchants' pages load are small.
func TestEmbed_is_small(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]int{"embed.js": 1500, "modal.js": 4000} {
		if asset, _ := static.Find(static.Path(name)); len(asset.Gzip) >= limit {
			t.Errorf("%s has %d bytes compressed, want less than %d", name, len(asset.Gzip), limit)
		}
	}
}

// The assets have neither comments nor indentation.
func TestAssets_are_minified(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"pay.css", "store.css", "pay.js", "wallet.js", "embed.js", "modal.js", "frame.js", "builder.js", "desk.css", "desk.js"} {
		asset, _ := static.Find(static.Path(name))
		for line := range strings.Lines(string(asset.Body)) {
			if strings.HasPrefix(line, "//") || strings.HasPrefix(line, " ") || strings.Contains(line, "/*") {
				t.Errorf("%s has the line %q", name, line)
			}
		}
	}
}

func unzip(t *testing.T, b []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}
