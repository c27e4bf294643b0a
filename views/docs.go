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
	YAML       string               // addresses of the document itself
	JSON       string
}

// Example is a program that uses the API.
type Example struct {
	Language string
	File     string
	Text     string
}

// places maps the place of a parameter to its text.
var places = map[string]string{"query": "in the query", "path": "in the path", "header": "in a header"}

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

// anchor returns the id of a section: "invoice-management".
func anchor(name string) string {
	return strings.ReplaceAll(strings.ToLower(name), " ", "-")
}

// refused returns the answers that are errors, and taken returns the others.
func refused(answers []openapi.Answer) (list []openapi.Answer) {
	for _, a := range answers {
		if a.Refused {
			list = append(list, a)
		}
	}
	return list
}

func taken(answers []openapi.Answer) (list []openapi.Answer) {
	for _, a := range answers {
		if !a.Refused {
			list = append(list, a)
		}
	}
	return list
}
