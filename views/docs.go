package views

import (
	"strings"

	"chequer/internal/openapi"
)

// Docs is the page that documents the API.
type Docs struct {
	Page
	Navigation Navigation
	Document   *openapi.Document
	Examples   map[string][]Example // by the name in openapi.Operation.Example
	YAML       string               // address of the document as YAML
	JSON       string               // address of the document as JSON
}

// Example is a program that uses the API.
type Example struct {
	Language string
	File     string
	Text     string
}

// parameterPlaces maps the place of a parameter to its text.
var parameterPlaces = map[string]string{"query": "in the query", "path": "in the path", "header": "in a header"}

// answersHeading returns the heading of an operation's responses. An operation without a path is an
// event, to which the reader's endpoint responds.
func answersHeading(o openapi.Operation) string {
	if o.Path == "" {
		return "Your responses"
	}
	return "Responses"
}

// paragraphs returns the paragraphs of a description.
func paragraphs(text string) []string {
	var list []string
	for part := range strings.SplitSeq(text, "\n\n") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// span is a part of a sentence, which may be code.
type span struct {
	text string
	code bool
}

// spans returns the parts of a sentence. Code is between backticks.
func spans(text string) []span {
	var list []span
	for i, part := range strings.Split(text, "`") {
		if part != "" {
			list = append(list, span{text: part, code: i%2 == 1})
		}
	}
	return list
}

// place is a part of the API reference that links can lead to.
type place struct {
	id, title string
	places    []place // the parts within it
}

// places returns the contents of the API reference.
func places(d *openapi.Document) []place {
	list := []place{{id: "signing", title: "Signing"}}
	for _, s := range d.Sections {
		section := place{id: anchor(s.Name), title: s.Name}
		for _, o := range s.Operations {
			section.places = append(section.places, place{id: o.ID, title: o.Summary})
		}
		list = append(list, section)
	}
	errors, objects := place{id: "errors", title: "Errors"}, place{id: "objects", title: "Objects"}
	for _, e := range d.Errors {
		errors.places = append(errors.places, place{id: "error-" + e.Status, title: e.Status})
	}
	for _, o := range d.Objects {
		objects.places = append(objects.places, place{id: o.Name, title: o.Name})
	}
	return append(list, errors, objects)
}

// anchor returns the id of a section: "invoice-management".
func anchor(name string) string {
	return strings.ReplaceAll(strings.ToLower(name), " ", "-")
}

// errorAnswers returns the answers that are errors.
func errorAnswers(answers []openapi.Answer) (list []openapi.Answer) {
	for _, a := range answers {
		if a.IsError {
			list = append(list, a)
		}
	}
	return list
}

// successAnswers returns the answers that are not errors.
func successAnswers(answers []openapi.Answer) (list []openapi.Answer) {
	for _, a := range answers {
		if !a.IsError {
			list = append(list, a)
		}
	}
	return list
}
