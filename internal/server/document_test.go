package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/google/go-cmp/cmp"

	"chequer/internal/api"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/server"
	"chequer/internal/wire"
)

// pages is the tag of the operations that the API's server does not serve.
const pages = "Pages"

// contract is the API document with a router that finds its operations.
type contract struct {
	document *openapi3.T
	router   routers.Router
}

var readContract = sync.OnceValues(func() (*contract, error) {
	document, err := openapi3.NewLoader().LoadFromData(api.Document)
	if err != nil {
		return nil, err
	}
	if err := document.Validate(context.Background()); err != nil {
		return nil, err
	}
	for _, schema := range document.Components.Schemas {
		forbidOtherFields(schema.Value)
	}
	router, err := gorillamux.NewRouter(document)
	return &contract{document, router}, err
})

func loadContract(t testing.TB) *contract {
	t.Helper()
	c, err := readContract()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// forbidOtherFields makes the check refuse a field that the document does not name: an answer may gain fields
// only together with the document.
func forbidOtherFields(s *openapi3.Schema) {
	no := false
	if len(s.Properties) > 0 && s.AdditionalProperties.Schema == nil {
		s.AdditionalProperties = openapi3.AdditionalProperties{Has: &no}
	}
}

// checkAnswers returns a handler that checks every answer of next against the document, and every accepted request.
func checkAnswers(t testing.TB, basePath string, next http.Handler) http.Handler {
	c := loadContract(t)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var sent bytes.Buffer
		original := *r
		if r.Body != nil {
			original.Body = struct {
				io.Reader
				io.Closer
			}{io.TeeReader(r.Body, &sent), r.Body}
		}
		answer := &recording{ResponseWriter: w}
		next.ServeHTTP(answer, &original)
		request := r.Clone(context.Background())
		request.URL.Path = strings.TrimPrefix(slashes.ReplaceAllString(r.URL.Path, "/"), basePath)
		request.URL.RawPath, request.Host, request.URL.Host, request.URL.Scheme = "", "", "", ""
		request.Body = io.NopCloser(&sent)
		if err := c.check(request, answer); err != nil {
			t.Errorf("%s %s: answer %d does not match the document: %v\n%s", r.Method, r.URL, answer.status, err, answer.body.String())
		}
	})
}

var slashes = regexp.MustCompile(`//+`)

// recording is a response writer that keeps a copy of the answer.
type recording struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (r *recording) WriteHeader(status int) {
	if r.status == 0 && status >= 200 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recording) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	r.body.Write(b)
	return r.ResponseWriter.Write(b)
}

// Unwrap gives access to the deadlines of the wrapped writer. See http.ResponseController.
func (r *recording) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// encodeDocumented encodes an event and checks its body against the document.
func encodeDocumented(t testing.TB) func(*invoice.Invoice, invoice.Event) []byte {
	event := loadContract(t).document.Components.Schemas["Event"].Value
	return func(inv *invoice.Invoice, e invoice.Event) []byte {
		body := wire.Event(inv, e)
		var value any
		if err := json.Unmarshal(body, &value); err != nil {
			t.Errorf("event: %v", err)
		}
		if err := event.VisitJSON(value, openapi3.EnableJSONSchema2020()); err != nil {
			t.Errorf("event does not match the document: %v\n%s", err, body)
		}
		return body
	}
}

// check checks an answer against the document, and the request too if it was accepted.
func (c *contract) check(r *http.Request, answer *recording) error {
	if answer.status == 0 {
		return nil // there was no answer
	}
	isHead := r.Method == http.MethodHead
	if isHead {
		r.Method = http.MethodGet // the document describes HEAD as GET
	}
	route, parameters, err := c.router.FindRoute(r)
	if err != nil || slices.Contains(route.Operation.Tags, pages) {
		route, parameters = c.unknownRoute(r.Method), nil
	}
	options := &openapi3filter.Options{
		IncludeResponseStatus: true, ExcludeResponseBody: isHead, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
	}
	input := &openapi3filter.RequestValidationInput{Request: r, PathParams: parameters, Route: route, Options: options}
	if route.Operation.OperationID != "" && answer.status < 300 {
		if err := openapi3filter.ValidateRequest(context.Background(), input); err != nil {
			return fmt.Errorf("request: %w", err)
		}
	}
	return openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: answer.status, Header: answer.Header(), Options: options,
		Body: io.NopCloser(bytes.NewReader(answer.body.Bytes())),
	})
}

// unknownRoute returns the route that describes the answers for an unknown path or method.
func (c *contract) unknownRoute(method string) *routers.Route {
	shared := c.document.Components.Responses
	if method == http.MethodOptions {
		answers := openapi3.NewResponses(openapi3.WithStatus(http.StatusNoContent, shared["Methods"]), openapi3.WithStatus(http.StatusNotFound, shared["NotFound"]))
		return &routers.Route{Spec: c.document, Operation: &openapi3.Operation{Responses: answers}}
	}
	answers := openapi3.NewResponses(
		openapi3.WithStatus(http.StatusNotFound, shared["NotFound"]),
		openapi3.WithStatus(http.StatusMethodNotAllowed, shared["MethodNotAllowed"]),
	)
	return &routers.Route{Spec: c.document, Operation: &openapi3.Operation{Responses: answers}}
}

// operations returns the operations of the document that the API's server serves, keyed as "GET
// /path".
func (c *contract) operations() map[string]*openapi3.Operation {
	operations := map[string]*openapi3.Operation{}
	for path, item := range c.document.Paths.Map() {
		for method, o := range item.Operations() {
			if !slices.Contains(o.Tags, pages) {
				operations[method+" "+path] = o
			}
		}
	}
	return operations
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// pathParameter matches a parameter in the path of a route.
var pathParameter = regexp.MustCompile(`:(\w+)`)

// The routes of the server and the operations of the document are the same.
func TestDocument_has_every_route(t *testing.T) {
	t.Parallel()
	got, heads := map[string]bool{}, map[string]bool{}
	for _, r := range server.Routes() {
		path := pathParameter.ReplaceAllString(r.Path, "{$1}")
		switch r.Method {
		case http.MethodHead:
			heads["GET "+path] = true
		default:
			got[r.Method+" "+path] = true
		}
	}
	if diff := cmp.Diff(sortedKeys(got), sortedKeys(loadContract(t).operations())); diff != "" {
		t.Errorf("routes (-) and document (+):\n%s", diff)
	}
	for route := range got {
		if strings.HasPrefix(route, "GET ") != heads[route] {
			t.Errorf("%s has no HEAD route", route)
		}
	}
}

// The scopes in the document are those that the server requires.
func TestDocument_has_the_required_scopes(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	for name, o := range loadContract(t).operations() {
		method, path, _ := strings.Cut(name, " ")
		scopes, signed := o.Extensions["x-scopes"].([]any)
		if open := o.Security != nil && len(*o.Security) == 0; open == signed {
			t.Errorf("%s must have both a key and scopes, or neither", name)
		}
		if !signed {
			continue
		}
		for _, scope := range []string{"create", "read", "page", "admin"} {
			resp := f.send(message{method: method, target: strings.NewReplacer("{id}", "none", "{event}", "none", "{slug}", "none").Replace(path), key: scope, signRequest: true})
			may := resp.Header.Get(api.HeaderErrorCode) != "key_may_not"
			if want := slices.Contains(scopes, any(scope)); may != want {
				t.Errorf("%s with a key of scope %s: accepted = %v, the document says %v", name, scope, may, want)
			}
		}
	}
}

// codes returns the error codes of the document's schemas.
func (c *contract) codes() map[string]bool {
	all := map[string]bool{}
	for name, schema := range c.document.Components.Schemas {
		if strings.HasSuffix(name, "Code") {
			for _, code := range schema.Value.OneOf {
				all[fmt.Sprint(code.Value.Const)] = true
			}
		}
	}
	return all
}

// The document lists exactly the codes that the source can put into X-Error-Code.
func TestDocument_has_every_error_code(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(sortedKeys(sourceCodes(t)), sortedKeys(loadContract(t).codes())); diff != "" {
		t.Errorf("source (-) and document (+):\n%s", diff)
	}
}

// finder collects error codes from the source.
type finder struct {
	constants map[string]string // of package api
	found     map[string]bool
}

// sourceCodes returns every error code of the source: literals, constants, and codes derived from
// the names of fields and parameters.
func sourceCodes(t *testing.T) map[string]bool {
	t.Helper()
	f := finder{constants: map[string]string{}, found: map[string]bool{}}
	inspect(t, "../api/*.go", f.addConstants)
	inspect(t, "../api/*.go", f.addRule)
	inspect(t, "*.go", f.addCodes)
	inspect(t, "../merchant/*.go", f.addCodes)
	for _, code := range []string{"invalid_label", "invalid_scopes"} { // the API creates no keys
		delete(f.found, code)
	}
	return f.found
}

// inspect calls visit for every node of the files that match a pattern, without tests.
func inspect(t *testing.T, pattern string, visit func(ast.Node)) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range paths {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(gotoken.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			visit(n)
			return true
		})
	}
}

// addConstants records string constants.
func (f finder) addConstants(n ast.Node) {
	if spec, ok := n.(*ast.ValueSpec); ok {
		for i, value := range spec.Values {
			if text, ok := value.(*ast.BasicLit); ok {
				f.constants[spec.Names[i].Name], _ = strconv.Unquote(text.Value)
			}
		}
	}
}

// addRule records the error code of a field of a request.
func (f finder) addRule(n ast.Node) {
	if field, ok := n.(*ast.Field); ok && field.Tag != nil && field.Names != nil {
		if tag := reflect.StructTag(strings.Trim(field.Tag.Value, "`")); tag.Get("rule") != "" {
			name, _, _ := strings.Cut(tag.Get("json"), ",")
			f.found["invalid_"+name] = true
		}
	}
}

// addCodes records the error codes that a node defines.
func (f finder) addCodes(n ast.Node) {
	switch n := n.(type) {
	case *ast.KeyValueExpr:
		if isIdentifier(n.Key, "code") {
			f.addCode("", n.Value)
		}
	case *ast.CallExpr:
		switch name, _ := n.Fun.(*ast.Ident); {
		case name == nil:
		case name.Name == "badRequest":
			f.addCode("", n.Args[0])
		case name.Name == "invalid":
			f.addCode("invalid_", n.Args[0])
		}
	case *ast.CompositeLit:
		if m, ok := n.Type.(*ast.MapType); ok && isIdentifier(m.Value, "parameter") {
			for _, e := range n.Elts {
				if pair := e.(*ast.KeyValueExpr); !isIdentifier(pair.Value, "checkedBefore") { // a field that is never refused
					f.addCode("invalid_", pair.Key)
				}
			}
		}
	case *ast.IndexExpr:
		if isIdentifier(n.X, "parameters") {
			f.addCode("invalid_", n.Index)
		}
	}
}

// addCode records a code that is a literal or a constant. It ignores other expressions, whose codes are
// found where they are made.
func (f finder) addCode(prefix string, e ast.Expr) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if word, err := strconv.Unquote(e.Value); err == nil && e.Kind == gotoken.STRING {
			f.found[prefix+word] = true
		}
	case *ast.SelectorExpr:
		if word := f.constants[e.Sel.Name]; isIdentifier(e.X, "api") && word != "" {
			f.found[prefix+word] = true
		}
	}
}

// isIdentifier reports whether an expression is the identifier name.
func isIdentifier(e ast.Expr, name string) bool {
	i, ok := e.(*ast.Ident)
	return ok && i.Name == name
}

// The enumerations of the document have the words that the program uses.
func TestDocument_has_every_word(t *testing.T) {
	t.Parallel()
	schemas := loadContract(t).document.Components.Schemas
	types := wire.EventTypes()
	for name, want := range map[string][]string{
		"FeedEventType": types,
		"EventType":     append(slices.Clone(types), merchant.EventTest),
		"DeliveryState": texts(merchant.DeliveryStates),
		"RefundKind":    texts(invoice.RefundKinds),
		"RefundState":   texts(invoice.RefundStates),
		"RefundTrouble": append([]string{""}, texts(invoice.RefundTroubles)...),
		"Status":        {api.StatusCreated, api.StatusPending, api.StatusPaid, api.StatusExpired, api.StatusDeclined},
		"Exception": {
			api.ExceptionUnderpaid, api.ExceptionOverpaid, api.ExceptionLate, api.ExceptionReplaced, api.ExceptionReorged,
			api.ExceptionWrongAsset, api.ExceptionOld, api.ExceptionDelayed, api.ExceptionRefundTrouble,
		},
	} {
		if diff := cmp.Diff(want, enumValues(schemas[name].Value)); diff != "" {
			t.Errorf("%s (-program +document):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff(api.SimulateActions, enumValues(schemas["SimulateRequest"].Value.Properties["action"].Value)); diff != "" {
		t.Errorf("actions (-program +document):\n%s", diff)
	}
}

// texts returns the elements of a list as strings.
func texts[T ~string](list []T) []string {
	var all []string
	for _, v := range list {
		all = append(all, string(v))
	}
	return all
}

// enumValues returns the values of an enumeration.
func enumValues(s *openapi3.Schema) []string {
	var all []string
	for _, v := range s.Enum {
		all = append(all, v.(string))
	}
	return all
}

// The check against the document fails for wrong answers.
func TestDocument_check_fails_for_wrong_answers(t *testing.T) {
	t.Parallel()
	contract := loadContract(t)
	const invoice = `{"foreign_id":"inv00000000000000000000000000001","status":"created","expired_at":"2026-11-27T12:15:32.782Z","client_amount":1,"client_currency":"EUR",` +
		`"addresses":[{"address":"a","expected_amount":1,"crypto_currency":"BTC","rate_usd":1,"rate_eur":1}]}`
	const refusal = `{"statusCode":404,"error":"Not Found","message":"There is no such invoice"}`
	tests := map[string]struct {
		status  int
		headers string
		body    string
		passes  bool
	}{
		"an invoice":                 {200, "Location ETag", invoice, true},
		"an additional field":        {200, "Location ETag", strings.Replace(invoice, "{", `{"paid_at":null,`, 1), false},
		"an additional nested field": {200, "Location ETag", strings.Replace(invoice, `{"address"`, `{"network":"x","address"`, 1), false},
		"a missing field":            {200, "Location ETag", strings.Replace(invoice, `"status":"created",`, "", 1), false},
		"an unknown status word":     {200, "Location ETag", strings.Replace(invoice, "created", "new", 1), false},
		"an amount as text":          {200, "Location ETag", strings.Replace(invoice, `"client_amount":1`, `"client_amount":"1"`, 1), false},
		"two fractional digits":      {200, "Location ETag", strings.Replace(invoice, "782Z", "78Z", 1), false},
		"no ETag":                    {200, "Location", invoice, false},
		"an error":                   {404, "X-Error-Code=invoice_not_found", refusal, true},
		"a code of another error":    {404, "X-Error-Code=bad_key_header", refusal, false},
		"no code":                    {404, "", refusal, false},
		"an error with two fields":   {404, "X-Error-Code=invoice_not_found", `{"statusCode":404,"error":"Not Found"}`, false},
		"an unlisted status":         {402, "X-Error-Code=invoice_not_found", refusal, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := &recording{ResponseWriter: httptest.NewRecorder(), status: test.status}
			answer.Header().Set("Content-Type", "application/json")
			for _, header := range strings.Fields(test.headers) {
				name, value, _ := strings.Cut(header, "=")
				answer.Header().Set(name, value)
			}
			answer.body.WriteString(test.body)
			err := contract.check(httptest.NewRequest("GET", "/api/v2/invoice/status?id=inv1", nil), answer)
			if passes := err == nil; passes != test.passes {
				t.Errorf("check passes = %v, want %v: %v", passes, test.passes, err)
			}
		})
	}
}
