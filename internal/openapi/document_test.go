package openapi_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"chequer/internal/api"
	"chequer/internal/openapi"
)

const small = `
openapi: 3.1.0
info: {title: Small, version: v1, summary: Short., description: Long.}
tags: [{name: Cups, description: All about cups.}, {name: Calls}]
paths:
  /cups/{id}:
    parameters:
      - {name: id, in: path, required: true, description: Which., schema: {type: string}}
    post:
      tags: [Cups]
      operationId: fill
      summary: Fill a cup
      description: To the brim.
      x-scopes: [admin]
      x-example: fill
      security: [{key: []}]
      parameters:
        - $ref: '#/components/parameters/Twice'
      requestBody:
        content:
          application/json:
            schema: {$ref: '#/components/schemas/FillRequest'}
            example: {tea: "1.50", milk: 0.50}
      responses:
        '200':
          description: Full.
          headers: {ETag: {description: The version., required: true, schema: {type: string}}}
          content: {application/json: {schema: {type: array, items: {$ref: '#/components/schemas/Cup'}}}}
        '404': {$ref: '#/components/responses/NotFound'}
webhooks:
  empty:
    post: {tags: [Calls], operationId: empty, responses: {2XX: {description: Noted.}}}
components:
  securitySchemes: {key: {type: apiKey, in: header, name: X-Key, description: Yours.}}
  parameters: {Twice: {name: twice, in: query, schema: {type: boolean, default: false, description: Two of them.}}}
  responses:
    NotFound:
      x-status: '404'
      description: No such cup.
      headers: {X-Error-Code: {schema: {oneOf: [{const: cup_not_found, description: There is none.}]}}}
  schemas:
    FillRequest:
      type: object
      required: [tea]
      properties:
        tea: {$ref: '#/components/schemas/Decimal'}
        milk: {type: [number, 'null'], description: How much., default: 0}
    Cup: {description: A cup., type: object, required: [size], properties: {size: {type: string, enum: [small, large], description: How big.}}}
    Decimal: {type: string, description: An amount.}
`

func TestRead_returns_every_part(t *testing.T) {
	t.Parallel()
	got, err := openapi.Read([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	text := openapi.Type{Words: "string"}
	want := &openapi.Document{
		Title: "Small", Version: "v1", Summary: "Short.", About: "Long.",
		Headers: []openapi.Field{{Name: "X-Key", In: "header", Type: text, About: "Yours."}},
		Sections: []openapi.Section{
			{Name: "Cups", About: "All about cups.", Operations: []openapi.Operation{{
				ID: "fill", Method: "POST", Path: "/cups/{id}", Summary: "Fill a cup", About: "To the brim.", Signed: "Request signature",
				Scopes: []string{"admin"}, Example: "fill",
				Parameters: []openapi.Field{
					{Name: "id", In: "path", Type: text, About: "Which.", Required: true},
					{Name: "twice", In: "query", Type: openapi.Type{Words: "boolean"}, About: "Two of them. Default: `false`."},
				},
				Body: &openapi.Object{Name: "FillRequest", Fields: []openapi.Field{
					{Name: "tea", Type: openapi.Type{Words: "decimal string"}, About: "An amount.", Required: true},
					{Name: "milk", Type: openapi.Type{Words: "number"}, About: "How much. Default: `0`."},
				}},
				Sample: "{\n  \"tea\": \"1.50\",\n  \"milk\": 0.50\n}",
				Answers: []openapi.Answer{
					{
						Status: "200", About: "Full.", Type: openapi.Type{Words: "array of", Object: "Cup"},
						Headers: []openapi.Field{{Name: "ETag", In: "header", Type: text, About: "The version.", Required: true}},
					},
					{Status: "404", About: "No such cup.", IsError: true, Headers: []openapi.Field{{Name: "X-Error-Code", In: "header", Type: text}}},
				},
			}}},
			{Name: "Calls", Operations: []openapi.Operation{{ID: "empty", Method: "POST", Answers: []openapi.Answer{{Status: "2XX", About: "Noted."}}}}},
		},
		Objects: []openapi.Object{{Name: "Cup", About: "A cup.", Fields: []openapi.Field{
			{Name: "size", Type: openapi.Type{Words: "small, large"}, About: "How big.", Required: true},
		}}},
		Errors: []openapi.Refusal{{Status: "404", About: "No such cup.", Codes: []openapi.Code{{Name: "cup_not_found", About: "There is none."}}}},
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
}

// Every part of the API's document has a description.
func TestRead_of_the_API_finds_descriptions(t *testing.T) {
	t.Parallel()
	document, err := openapi.Read(api.Document)
	if err != nil {
		t.Fatal(err)
	}
	checkDescription := func(where, name, description string) {
		if description == "" {
			t.Errorf("%s: %s is not described", where, name)
		}
	}
	checkTypes := func(where string, list []openapi.Field) {
		for _, f := range list {
			checkDescription(where, f.Name, f.About)
			if f.Type == (openapi.Type{}) {
				t.Errorf("%s: %s has no type", where, f.Name)
			}
		}
	}
	for _, s := range document.Sections {
		if len(s.Operations) == 0 {
			t.Errorf("section %s is empty", s.Name)
		}
		for _, o := range s.Operations {
			checkDescription(o.ID, "it", o.Summary)
			checkTypes(o.ID, o.Parameters)
			if o.Body != nil {
				checkTypes(o.ID, o.Body.Fields)
			}
			for _, a := range o.Answers {
				checkDescription(o.ID, a.Status, a.About)
				checkTypes(o.ID+" "+a.Status, a.Headers)
			}
		}
	}
	for _, o := range document.Objects {
		checkTypes(o.Name, o.Fields)
	}
	for _, e := range document.Errors {
		checkDescription("errors", e.Status, e.About)
		for _, c := range e.Codes {
			checkDescription(e.Status, c.Name, c.About)
		}
	}
}

func TestRead_refuses_a_wrong_document(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, want string }{
		{"empty", "", "read document: it is empty"},
		{"a comment only", "# nothing\n", "read document: it is empty"},
		{"a tag that is not listed", "paths: {/cups: {get: {tags: [Cups]}}}", `read document: get /cups: the tag "Cups" is not listed in tags`},
		{"a tag that differs from the listed ones", "tags: [{name: Calls}]\npaths: {/cups: {get: {tags: [Cups]}}}", `read document: get /cups: the tag "Cups" is not listed in tags`},
	} {
		if _, err := openapi.Read([]byte(test.text)); err == nil || err.Error() != test.want {
			t.Errorf("%s: got error %v, want %s", test.name, err, test.want)
		}
	}
	if _, err := openapi.JSON(nil); err == nil || err.Error() != "read document: it is empty" {
		t.Errorf("JSON of an empty document: got error %v", err)
	}
}

func TestRead_of_a_schema_without_variants(t *testing.T) {
	t.Parallel()
	got, err := openapi.Read([]byte("components: {schemas: {Cup: {properties: {size: {type: string, oneOf: []}}}}}"))
	if err != nil {
		t.Fatal(err)
	}
	want := []openapi.Object{{Name: "Cup", Fields: []openapi.Field{{Name: "size", Type: openapi.Type{Words: "string"}}}}}
	if diff := cmp.Diff(want, got.Objects); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

func TestJSON_has_the_values_of_the_YAML(t *testing.T) {
	t.Parallel()
	for name, text := range map[string][]byte{"small": []byte(small), "api": api.Document, "odd": []byte(`{a: {}, b: [], c: null, "d\"": [true, -1.50, "1", "yes"]}`)} {
		got, err := openapi.JSON(text)
		if err != nil {
			t.Fatal(err)
		}
		var have, want any
		if err := json.Unmarshal(got, &have); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, got)
		}
		if err := yaml.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		if again, err := json.Marshal(want); err != nil || json.Unmarshal(again, &want) != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(have, want); diff != "" {
			t.Errorf("%s (-JSON +YAML):\n%s", name, diff)
		}
	}
}
