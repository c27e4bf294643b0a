package webhook_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"chequer/internal/api"
)

var documented = sync.OnceValues(func() (*openapi3.Operation, error) {
	document, err := openapi3.NewLoader().LoadFromData(api.Document)
	if err != nil {
		return nil, err
	}
	return document.Webhooks["event"].Post, nil
})

// checkDocumented checks the headers of a delivery against the document: all documented headers are
// present, there are no other headers that begin with X-, and the media type is documented. The tests of package
// server check the body.
func checkDocumented(t testing.TB, h http.Header) {
	o, err := documented()
	if err != nil {
		t.Error(err)
		return
	}
	named := map[string]bool{}
	for _, p := range o.Parameters {
		name := http.CanonicalHeaderKey(p.Value.Name)
		named[name] = true
		if len(h.Values(name)) == 0 {
			t.Errorf("%s is missing", name)
		}
		if err := p.Value.Schema.Value.VisitJSON(h.Get(name), openapi3.EnableJSONSchema2020()); err != nil {
			t.Errorf("%s does not match the document: %v", name, err)
		}
	}
	for name := range h {
		if strings.HasPrefix(name, "X-") && !named[name] {
			t.Errorf("%s is not documented", name)
		}
	}
	if kind := h.Get("Content-Type"); o.RequestBody.Value.Content[kind] == nil {
		t.Errorf("%s is not a documented media type", kind)
	}
}
