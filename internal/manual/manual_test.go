package manual_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"

	"chequer/internal/manual"
)

func address(slug string) string { return path.Join("/pay/docs", slug) }

func render(t *testing.T, p manual.Page) (manual.Document, *goquery.Document) {
	t.Helper()
	document, err := manual.Render(p, address)
	if err != nil {
		t.Fatal(err)
	}
	html, err := goquery.NewDocumentFromReader(strings.NewReader(document.HTML))
	if err != nil {
		t.Fatal(err)
	}
	return document, html
}

func TestPages_are_complete(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, p := range manual.Pages() {
		listed = append(listed, p.Slug+".md")
		if title, _, _ := strings.Cut(p.Markdown(), "\n"); title != "# "+p.Title {
			t.Errorf("%s begins with %q, want its title, %q", p.Slug, title, p.Title)
		}
		if p.Summary == "" || strings.HasSuffix(p.Summary, ".") || strings.Contains(p.Summary, "\n") {
			t.Errorf("summary of %s: %q", p.Slug, p.Summary)
		}
		if p.Slug == "search" || p.Slug == manual.APIReference {
			t.Errorf("%s is the address of another page", p.Slug)
		}
	}
	slices.Sort(listed)
	if diff := cmp.Diff(listed, files); diff != "" {
		t.Errorf("pages and files differ (-pages +files):\n%s", diff)
	}
}

// Every link of a rendered page leads to a page or section. Every link to ../ in Markdown leads to a file.
func TestRender_links_to_existing_pages_and_files(t *testing.T) {
	t.Parallel()
	ids, links := map[string]bool{}, map[string][]string{}
	for _, p := range manual.Pages() {
		_, html := render(t, p)
		ids[address(p.Slug)] = true
		for _, n := range html.Find("[id]").EachIter() {
			id := address(p.Slug) + "#" + n.AttrOr("id", "")
			if ids[id] {
				t.Errorf("%s occurs twice", id)
			}
			ids[id] = true
		}
		for _, a := range html.Find("a").EachIter() {
			href := a.AttrOr("href", "")
			if strings.HasPrefix(href, "#") {
				href = address(p.Slug) + href
			}
			links[p.Slug] = append(links[p.Slug], href)
		}
	}
	ids[address(manual.APIReference)] = true
	for slug, pageLinks := range links {
		for _, link := range pageLinks {
			if !ids[link] {
				t.Errorf("%s links to %s, which does not exist", slug, link)
			}
		}
	}
	file := regexp.MustCompile(`\]\((\.\./[^)#]+)`)
	for _, p := range manual.Pages() {
		for _, link := range file.FindAllStringSubmatch(p.Markdown(), -1) {
			if _, err := os.Stat(link[1]); err != nil {
				t.Errorf("%s links to a file that does not exist: %v", p.Slug, err)
			}
		}
	}
}

func TestRender_complies_with_the_content_policy(t *testing.T) {
	t.Parallel()
	for _, p := range manual.Pages() {
		document, html := render(t, p)
		if n := html.Find("script, style, [style], img, iframe, [onclick]"); n.Length() > 0 {
			outer, err := goquery.OuterHtml(n.First())
			t.Errorf("%s has %s, error %v", p.Slug, outer, err)
		}
		if strings.Contains(document.HTML, "<!--") {
			t.Errorf("%s has a comment", p.Slug)
		}
	}
}

func TestRender_is_accessible(t *testing.T) {
	t.Parallel()
	for _, p := range manual.Pages() {
		_, html := render(t, p)
		if n := html.Find("h1").Length(); n != 1 {
			t.Errorf("%s has %d headings of level 1, want 1", p.Slug, n)
		}
		if html.Find("pre").Length() != html.Find("pre[tabindex='0'][aria-label]").Length() {
			t.Errorf("%s has code that cannot be scrolled by keyboard", p.Slug)
		}
		for _, th := range html.Find("th").EachIter() {
			if th.Text() == "" {
				t.Errorf("%s has a column without a heading", p.Slug)
			}
		}
	}
}

func TestRender_returns_the_sections_of_a_page(t *testing.T) {
	t.Parallel()
	p, _ := manual.Find("terminals")
	document, _ := render(t, p)
	var got []string
	for _, s := range document.Sections {
		got = append(got, s.ID+": "+s.Title)
		if s.Text == "" || strings.ContainsAny(s.Text, "\n`") {
			t.Errorf("text of %s: %q", s.ID, s.Text)
		}
	}
	if diff := cmp.Diff([]string{"terminals: Terminals", "use: Use"}, got); diff != "" {
		t.Errorf("sections (-want +got):\n%s", diff)
	}
}

func TestFind_unknown_page(t *testing.T) {
	t.Parallel()
	if p, ok := manual.Find("../manual"); ok {
		t.Errorf("found %v", p)
	}
}
