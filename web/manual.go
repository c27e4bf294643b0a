package web

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"chequer/internal/manual"
	"chequer/internal/openapi"
	"chequer/views"
)

// maxHits is the largest number of sections that a search lists.
const maxHits = 30

// renderedManual is the manual as HTML, with the addresses of this server.
type renderedManual struct {
	documents []manual.Document
	index     *manual.Index // of the manual and of the API reference
}

// renderManual renders every page of the manual. Handlers call it through Handler.renderedManual, which renders once.
func (h *Handler) renderManual() (renderedManual, error) {
	var manualText renderedManual
	var entries []manual.Entry
	for _, p := range manual.Pages() {
		document, err := manual.Render(p, h.docsAddress)
		if err != nil {
			return renderedManual{}, err
		}
		manualText.documents = append(manualText.documents, document)
		for _, s := range document.Sections {
			url := h.docsAddress(p.Slug)
			if s.Level > 1 {
				url += "#" + s.ID
			}
			entries = append(entries, manual.Entry{Page: p.Title, Title: s.Title, URL: url, Text: s.Text})
		}
	}
	document, err := readDocument()
	if err != nil {
		return renderedManual{}, err
	}
	manualText.index = manual.NewIndex(append(entries, referenceEntries(document, h.docsAddress(manual.APIReference))...))
	return manualText, nil
}

// apiReferenceTitle is the title of the page at /docs/api.
const apiReferenceTitle = "API reference"

// referenceEntries returns the operations and objects of the API reference.
func referenceEntries(d *openapi.Document, address string) []manual.Entry {
	var entries []manual.Entry
	add := func(id, title, text string, fields ...[]openapi.Field) {
		for _, f := range slices.Concat(fields...) {
			text += " " + f.Name + ": " + f.About
		}
		text = strings.Join(strings.Fields(strings.ReplaceAll(text, "`", "")), " ")
		entries = append(entries, manual.Entry{Page: apiReferenceTitle, Title: title, URL: address + "#" + id, Text: text})
	}
	for _, s := range d.Sections {
		for _, o := range s.Operations {
			var body []openapi.Field
			if o.Body != nil {
				body = o.Body.Fields
			}
			add(o.ID, o.Summary, o.Method+" "+o.Path+" "+o.About, o.Parameters, body)
		}
	}
	for _, o := range d.Objects {
		add(o.Name, o.Name, o.About, o.Fields)
	}
	return entries
}

// docsAddress returns the address of a page of the manual. The overview has the slug "".
func (h *Handler) docsAddress(slug string) string {
	return h.path(path.Join("/docs", slug))
}

// navigation returns the links to the overview, the pages of the manual and the API reference. The current page is given
// by its slug. The pages of a group are shown on its pages.
func (h *Handler) navigation(current string) views.Navigation {
	n := views.Navigation{Current: h.docsAddress(current), Search: h.docsAddress("search"), IsOpen: current != manual.APIReference}
	n.Pages = append(n.Pages, views.ManualLink{Link: views.Link{Text: "Overview", URL: h.docsAddress("")}})
	shown, _ := manual.Find(current)
	for _, p := range manual.Pages() {
		if p.Parent != "" {
			continue
		}
		entry := views.ManualLink{Link: h.manualLink(p)}
		if current == p.Slug || shown.Parent == p.Slug {
			for _, q := range p.Group() {
				entry.Pages = append(entry.Pages, views.ManualLink{Link: h.manualLink(q)})
			}
		}
		n.Pages = append(n.Pages, entry)
	}
	n.Pages = append(n.Pages, views.ManualLink{Link: views.Link{Text: apiReferenceTitle, URL: h.docsAddress(manual.APIReference)}})
	return n
}

// manualLink returns the link to a page of the manual.
func (h *Handler) manualLink(p manual.Page) views.Link {
	return views.Link{Text: p.Title, URL: h.docsAddress(p.Slug)}
}

// manualOverview serves GET /docs, which lists the pages of the manual and the contents of the API
// reference.
func (h *Handler) manualOverview(c echo.Context) error {
	document, err := readDocument()
	if err != nil {
		return err
	}
	page := views.ManualOverview{Page: h.developerPage(c, "Chequer manual", "docs.css"), Navigation: h.navigation(""), Reference: h.docsAddress(manual.APIReference), Document: document}
	for _, p := range manual.Pages() {
		if p.Parent == "" {
			page.Topics = append(page.Topics, views.Topic{Link: h.manualLink(p), Summary: p.Summary})
		}
	}
	return render(c, http.StatusOK, views.ManualOverviewPage(page))
}

// manualPage serves GET /docs/:slug, a page of the manual.
func (h *Handler) manualPage(c echo.Context) error {
	manualText, err := h.renderedManual()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(manualText.documents, func(d manual.Document) bool { return d.Slug == c.Param("slug") })
	if i < 0 {
		return echo.ErrNotFound
	}
	document := manualText.documents[i]
	page := views.Manual{Page: h.developerPage(c, document.Title+" – Chequer manual", "docs.css"), HTML: document.HTML, Navigation: h.navigation(document.Slug)}
	for _, s := range document.Sections {
		if s.Level == 2 {
			page.Navigation.Sections = append(page.Navigation.Sections, views.Link{Text: s.Title, URL: "#" + s.ID})
		}
	}
	page.Previous = page.Navigation.Pages[0].Link // the overview
	if i > 0 {
		page.Previous = h.manualLink(manualText.documents[i-1].Page)
	}
	if i+1 < len(manualText.documents) {
		page.Next = h.manualLink(manualText.documents[i+1].Page)
	}
	return render(c, http.StatusOK, views.ManualPage(page))
}

// manualSearch serves GET /docs/search, which lists the sections that have the words of the parameter q.
func (h *Handler) manualSearch(c echo.Context) error {
	manualText, err := h.renderedManual()
	if err != nil {
		return err
	}
	query := strings.TrimSpace(c.QueryParam("q"))
	page := views.ManualSearch{Page: h.developerPage(c, "Search – Chequer manual", "docs.css"), Navigation: h.navigation("search")}
	if query != "" && utf8.ValidString(query) {
		page.Navigation.Query = query
		page.Hits = manualText.index.Find(query, maxHits)
		page.Result = resultText(len(page.Hits))
	}
	return render(c, http.StatusOK, views.ManualSearchPage(page))
}

// resultText returns the sentence with the number of sections that a search found.
func resultText(n int) string {
	switch n {
	case 0:
		return "No section has all of these words."
	case 1:
		return "1 section has these words."
	case maxHits:
		return fmt.Sprintf("The best %d sections that have these words:", n)
	}
	return fmt.Sprintf("%d sections have these words.", n)
}
