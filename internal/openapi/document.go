// Package openapi parses an OpenAPI 3.1 document in YAML for display, in the document's order.
package openapi

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Document is a parsed OpenAPI document.
type Document struct {
	Title    string
	Version  string
	Summary  string
	About    string
	Headers  []Field // headers that authenticate requests
	Sections []Section
	Objects  []Object // objects in requests and answers
	Errors   []Refusal
}

// Section is a tag with its operations.
type Section struct {
	Name       string
	About      string
	Operations []Operation
}

// Operation is a call of the API or a webhook.
type Operation struct {
	ID         string
	Method     string
	Path       string // "" for a webhook
	Summary    string
	About      string
	Signed     string   // name of the accepted signatures; "" if none is needed
	Scopes     []string // the key needs at least one of these
	Parameters []Field
	Body       *Object // nil for a request without a body
	Sample     string  // example body in JSON, or ""
	Answers    []Answer
	Example    string // folder of its examples, or ""
}

// Field is a parameter, a header or a member of an object.
type Field struct {
	Name     string
	In       string // "query", "header" or "path"; "" for a member
	Type     Type
	About    string
	Required bool
}

// Type is the type of a value: words, followed by a link to an object.
type Type struct {
	Words  string
	Object string // "" if Words is the whole type
}

// Object is a schema with members. Its name is "" if the schema has none.
type Object struct {
	Name   string
	About  string
	Fields []Field
}

// Answer is the response of an operation with one status.
type Answer struct {
	Status  string
	About   string
	Headers []Field
	Type    Type
	Sample  string // example body in JSON, or ""
	IsError bool   // an error, whose codes are in Document.Errors
}

// Refusal is an HTTP status of errors with their codes.
type Refusal struct {
	Status string
	About  string
	Codes  []Code
}

// Code is a value of X-Error-Code.
type Code struct{ Name, About string }

// Read parses a document. The error means that text is not YAML, is empty, or has an operation with a tag that
// the document does not list.
func Read(text []byte) (*Document, error) {
	root, err := parse(text)
	if err != nil {
		return nil, err
	}
	r := reader{root: root}
	info := r.root.at("info")
	d := &Document{
		Title: info.text("title"), Version: info.text("version"), Summary: info.text("summary"), About: info.text("description"),
		Headers: r.headers(),
	}
	if err := r.sections(d); err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	r.objects(d)
	r.refusals(d)
	return d, nil
}

// JSON converts a document to JSON, in the same order. The error means that text is not YAML or is empty.
func JSON(text []byte) ([]byte, error) {
	root, err := parse(text)
	if err != nil {
		return nil, err
	}
	return root.json(nil), nil
}

// parse returns the root of a document.
func parse(text []byte) (node, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return node{}, fmt.Errorf("read document: %w", err)
	}
	if len(root.Content) == 0 {
		return node{}, errors.New("read document: it is empty")
	}
	return node{root.Content[0]}, nil
}

// requestSuffix is the suffix of the names of schemas that only requests use.
const requestSuffix = "Request"

// reader reads parts of a document.
type reader struct {
	root node
}

// headers returns the headers of the security schemes.
func (r *reader) headers() []Field {
	var list []Field
	for _, s := range r.root.at("components", "securitySchemes").members() {
		list = append(list, Field{Name: s.value.text("name"), In: "header", Type: Type{Words: "string"}, About: s.value.text("description")})
	}
	return list
}

// methods are the HTTP methods of operations in a path.
var methods = []string{"get", "post", "put", "patch", "delete"}

// sections adds every operation, and every webhook, to the section of its tag. The error names a tag without a section.
func (r *reader) sections(d *Document) error {
	indexes := map[string]int{}
	for i, t := range r.root.at("tags").items() {
		d.Sections = append(d.Sections, Section{Name: t.text("name"), About: t.text("description")})
		indexes[t.text("name")] = i
	}
	for _, group := range []string{"paths", "webhooks"} {
		for _, path := range r.root.at(group).members() {
			for _, o := range path.value.members() {
				if !slices.Contains(methods, o.name) {
					continue
				}
				operation := r.operation(path.value, o.value)
				operation.Method = strings.ToUpper(o.name)
				if group == "paths" {
					operation.Path = path.name
				}
				for _, tag := range o.value.at("tags").items() {
					index, ok := indexes[tag.Value]
					if !ok {
						return fmt.Errorf("%s %s: the tag %q is not listed in tags", o.name, path.name, tag.Value)
					}
					d.Sections[index].Operations = append(d.Sections[index].Operations, operation)
				}
			}
		}
	}
	return nil
}

// operation reads an operation, with the parameters of its path.
func (r *reader) operation(path, o node) Operation {
	operation := Operation{
		ID: o.text("operationId"), Summary: o.text("summary"), About: o.text("description"),
		Signed: signed(o.at("security")), Example: o.text("x-example"),
	}
	for _, s := range o.at("x-scopes").items() {
		operation.Scopes = append(operation.Scopes, s.Value)
	}
	for _, p := range append(path.at("parameters").items(), o.at("parameters").items()...) {
		p, _ = r.follow(p)
		operation.Parameters = append(operation.Parameters, Field{
			Name: p.text("name"), In: p.text("in"), Type: r.typeOf(p.at("schema")), About: r.describe(p, p.at("schema")),
			Required: p.text("required") == "true",
		})
	}
	if body := o.at("requestBody", "content", "application/json"); body.exists() {
		operation.Body, operation.Sample = r.object(body.at("schema")), body.at("example").sample()
	}
	for _, answer := range o.at("responses").members() {
		operation.Answers = append(operation.Answers, r.answer(answer.name, answer.value))
	}
	return operation
}

// signed returns the name of the signatures that a call accepts; "" if it needs none.
func signed(security node) string {
	schemes := security.items()
	switch {
	case len(schemes) == 0:
		return ""
	case len(schemes) > 1:
		return "Body signature or request signature"
	}
	return "Request signature"
}

// answer reads the response of an operation with one status.
func (r *reader) answer(status string, n node) Answer {
	n, _ = r.follow(n)
	a := Answer{Status: status, About: n.text("description"), IsError: n.at("headers", "X-Error-Code").exists()}
	for _, h := range n.at("headers").members() {
		header, _ := r.follow(h.value)
		a.Headers = append(a.Headers, Field{
			Name: h.name, In: "header", Type: r.typeOf(header.at("schema")), About: header.text("description"), Required: header.text("required") == "true",
		})
	}
	for _, content := range n.at("content").members() {
		a.Type, a.Sample = r.typeOf(content.value.at("schema")), content.value.at("example").sample()
		break // other media types have the same content
	}
	return a
}

// refusals adds the shared responses that have error codes.
func (r *reader) refusals(d *Document) {
	for _, answer := range r.root.at("components", "responses").members() {
		codes := answer.value.at("headers", "X-Error-Code", "schema")
		if !codes.exists() {
			continue
		}
		refusal := Refusal{Status: answer.value.text("x-status"), About: answer.value.text("description")}
		codes, _ = r.follow(codes)
		for _, code := range codes.at("oneOf").items() {
			refusal.Codes = append(refusal.Codes, Code{Name: code.text("const"), About: code.text("description")})
		}
		d.Errors = append(d.Errors, refusal)
	}
}

// objects adds the schemas with members, except those of requests, which are part of their operations.
func (r *reader) objects(d *Document) {
	for _, schema := range r.root.at("components", "schemas").members() {
		if schema.value.at("properties").exists() && !strings.HasSuffix(schema.name, requestSuffix) {
			d.Objects = append(d.Objects, *r.object(schema.value))
			d.Objects[len(d.Objects)-1].Name = schema.name
		}
	}
}
