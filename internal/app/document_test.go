package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"chequer/internal/api"
)

// The server answers the paths of pages and files as the document describes. The tests of package
// server check the paths of the API.
func TestDocument_describes_every_page(t *testing.T) {
	t.Parallel()
	document, err := openapi3.NewLoader().LoadFromData(api.Document)
	if err != nil {
		t.Fatal(err)
	}
	p := demo(t)
	_, created := p.create(api.PathInvoiceNew)
	var inv api.Invoice
	if err := json.Unmarshal([]byte(created), &inv); err != nil {
		t.Fatal(err)
	}
	for path, item := range document.Paths.Map() {
		o := item.Get
		if o == nil || !slices.Contains(o.Tags, "Pages") {
			continue
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+strings.NewReplacer("{id}", inv.ForeignID, "{slug}", "none").Replace(path), nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		missing := strings.Contains(path, "{slug}") || strings.HasSuffix(path, ".pdf") // no slug exists, and no invoice is paid
		if ok := response.StatusCode == http.StatusOK; err != nil || ok == missing {
			t.Errorf("%s: answer %d, error %v", path, response.StatusCode, err)
		}
		options := &openapi3filter.Options{IncludeResponseStatus: true}
		err = openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
			RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, Route: &routers.Route{Spec: document, Operation: o}, Options: options},
			Status:                 response.StatusCode, Header: response.Header, Body: io.NopCloser(bytes.NewReader(body)), Options: options,
		})
		if err != nil {
			t.Errorf("%s does not match the document: %v", path, err)
		}
	}
}
