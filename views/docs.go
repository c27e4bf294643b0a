package views

import (
	"strings"

	"chequer/internal/openapi"
)

// Docs is the page of the API's document.
type Docs struct {
	Page
	Document *openapi.Document
	Examples map[string][]Example // by the name that an operation has for them
	YAML     string               // addresses of the document itself
	JSON     string
}

// Example is a program that uses the API.
type Example struct {
	Language string
	File     string
	Text     string
}

// places say where a parameter stands.
var places = map[string]string{"query": "in the query", "path": "in the path", "header": "in a header"}

// answersHeading says whose answers they are.
func answersHeading(o openapi.Operation) string {
	if o.Path == "" {
		return "Your answers"
	}
	return "Answers"
}

// paragraphs are those of a description.
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

// spans are the parts of a sentence, whose code stands between backticks.
func spans(text string) []span {
	var list []span
	for i, part := range strings.Split(text, "`") {
		if part != "" {
			list = append(list, span{text: part, code: i%2 == 1})
		}
	}
	return list
}

// anchor is the identifier of a section: "our-own-resource".
func anchor(name string) string {
	return strings.ReplaceAll(strings.ToLower(name), " ", "-")
}

// refused and taken are the answers of an operation by whether they are errors.
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
