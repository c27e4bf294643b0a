package web_test

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"chequer/internal/api"
	"chequer/internal/openapi"
	"chequer/web"
)

func documented(c *web.Config) { c.Docs = true }

// The page has every operation, object and error of the document. Every link within the page has a target.
// The page loads nothing from another site.
func TestDocs_show_the_whole_document(t *testing.T) {
	t.Parallel()
	h := pages(t, newService(), documented)
	response := get(t, h, "/docs/api")
	if response.StatusCode != http.StatusOK || !strings.Contains(response.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Fatalf("status %d, policy %q", response.StatusCode, response.Header.Get("Content-Security-Policy"))
	}
	page, err := goquery.NewDocumentFromReader(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]int{}
	for _, n := range page.Find("[id]").EachIter() {
		ids[n.AttrOr("id", "")]++
	}
	document, err := openapi.Read(api.Document)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range document.Sections {
		for _, o := range s.Operations {
			if ids[o.ID] != 1 || !strings.Contains(page.Find("#"+o.ID+" .route").Text(), o.Path) {
				t.Errorf("%s occurs %d times, want once with its path", o.ID, ids[o.ID])
			}
		}
	}
	for _, o := range document.Objects {
		if got := page.Find("#" + o.Name + " dt").Length(); got != len(o.Fields) {
			t.Errorf("%s has %d fields of %d", o.Name, got, len(o.Fields))
		}
	}
	for _, e := range document.Errors {
		if got := page.Find("#error-" + e.Status + " dt").Length(); got != len(e.Codes) {
			t.Errorf("%s has %d codes of %d", e.Status, got, len(e.Codes))
		}
	}
	for _, a := range page.Find("a[href^='#']").EachIter() {
		if id := a.AttrOr("href", "")[1:]; ids[id] != 1 {
			t.Errorf("a link leads to #%s, which occurs %d times", id, ids[id])
		}
	}
	if page.Find("script, [style], style, img").Length() > 0 {
		t.Error("the page has an inline script, a style or a picture")
	}
}

// The page shows the examples as they are in their files.
func TestDocs_show_the_examples_unchanged(t *testing.T) {
	t.Parallel()
	page, err := goquery.NewDocumentFromReader(get(t, pages(t, newService(), documented), "/docs/api").Body)
	if err != nil {
		t.Fatal(err)
	}
	files, err := fs.Glob(api.Examples, "examples/*/*")
	if err != nil || len(files) != 15 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	shown := page.Find(".tabs pre").Map(func(_ int, s *goquery.Selection) string { return s.Text() })
	for _, file := range files {
		text, err := fs.ReadFile(api.Examples, file)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(shown, strings.TrimSpace(string(text))) {
			t.Errorf("%s is not shown", file)
		}
	}
	if len(shown) != len(files) {
		t.Errorf("%d examples shown of %d", len(shown), len(files))
	}
}

func TestDocs_serve_the_document_as_YAML_and_JSON(t *testing.T) {
	t.Parallel()
	h := pages(t, newService(), documented)
	response := get(t, h, "/openapi.yaml")
	text, err := io.ReadAll(response.Body)
	if err != nil || !bytes.Equal(text, api.Document) || response.Header.Get("Content-Type") != "application/yaml" {
		t.Errorf("YAML: %d bytes of %q, %v", len(text), response.Header.Get("Content-Type"), err)
	}
	var document struct{ OpenAPI string }
	if err := json.NewDecoder(get(t, h, "/openapi.json").Body).Decode(&document); err != nil || document.OpenAPI != "3.1.0" {
		t.Errorf("JSON: OpenAPI %q, %v", document.OpenAPI, err)
	}
}

// Pages of a service in another process do not serve its documentation.
func TestDocs_are_served_only_with_Config_Docs(t *testing.T) {
	t.Parallel()
	h := pages(t, newService(), nil)
	for _, path := range []string{"/docs", "/docs/api", "/openapi.yaml", "/openapi.json"} {
		if got := get(t, h, path).StatusCode; got != http.StatusNotFound {
			t.Errorf("%s has status %d, want 404", path, got)
		}
	}
}
