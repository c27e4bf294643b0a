package web

import (
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
	"chequer/internal/manual"
	"chequer/internal/openapi"
	"chequer/views"
)

// readDocument parses the API's document once, on first use.
var readDocument = sync.OnceValues(func() (*openapi.Document, error) { return openapi.Read(api.Document) })

// documentJSON returns the API's document as JSON.
var documentJSON = sync.OnceValues(func() ([]byte, error) { return openapi.JSON(api.Document) })

// apiReference serves GET /docs/api, the page that documents the API.
func (h *Handler) apiReference(c echo.Context) error {
	document, err := readDocument()
	if err != nil {
		return err
	}
	programs, err := examples()
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, views.DocsPage(views.Docs{
		Page: h.developerPage(c, document.Title+" API", "docs.css"), Navigation: h.navigation(manual.APIReference), Document: document, Examples: programs, YAML: h.path("/openapi.yaml"), JSON: h.path("/openapi.json"),
	}))
}

// openapiYAML serves the API's document as YAML, and openapiJSON as JSON.
func (h *Handler) openapiYAML(c echo.Context) error {
	return c.Blob(http.StatusOK, "application/yaml", api.Document)
}

func (h *Handler) openapiJSON(c echo.Context) error {
	body, err := documentJSON()
	if err != nil {
		return err
	}
	return c.JSONBlob(http.StatusOK, body)
}

// exampleLanguages lists the programming languages of the examples by file extension, in the order of the
// tabs.
var exampleLanguages = []struct{ extension, name string }{
	{".sh", "curl"}, {".go", "Go"}, {".mjs", "Node"}, {".py", "Python"}, {".php", "PHP"},
}

// examples returns the example programs by the name of their folder.
var examples = sync.OnceValues(func() (map[string][]views.Example, error) {
	byFolder := map[string][]views.Example{}
	for _, l := range exampleLanguages {
		files, err := fs.Glob(api.Examples, "examples/*/*"+l.extension)
		if err != nil {
			return nil, fmt.Errorf("examples: %w", err)
		}
		for _, name := range files {
			text, err := fs.ReadFile(api.Examples, name)
			if err != nil {
				return nil, fmt.Errorf("examples: %w", err)
			}
			folder := path.Base(path.Dir(name))
			byFolder[folder] = append(byFolder[folder], views.Example{Language: l.name, File: path.Base(name), Text: strings.TrimSpace(string(text))})
		}
	}
	return byFolder, nil
})
