package api

import (
	"reflect"
	"strconv"
	"strings"
)

// Rule is the rule for the value of a request's field. The field's tag "rule" has the name of the rule
// and its bounds, preceded by the word "required" if the field must be present:
//
//	text, line, paragraph MAX   a text of at most MAX characters; a line and a paragraph have no invisible characters
//	whole MIN [MAX]             a whole number
//	seconds MIN MAX             a whole number of seconds
//	amount                      a number, or a text of digits
//	percent                     a number, or a text of digits, which may be empty
//	boolean, base64             true or false; bytes in base64
//	texts                       an object whose values are texts
//	codes, choice               a list of payment methods; a choice may be empty
//	types, subscription         a list of types of events; a subscription may be empty
//	language, time, url         a language tag; a time or an empty text; a return address
//	asking                      one of the Ask constants
//
// The tag of an embedded struct lists its required fields.
type Rule struct {
	Name   string
	Bounds []int64
}

// Field is a field of a request.
type Field struct {
	Name     string // in JSON
	Required bool
	Rule     Rule
	Index    []int // see reflect.Value.FieldByIndex
}

// FieldsOf returns the fields of the type of a request.
func FieldsOf(request reflect.Type) []Field {
	var fields []Field
	required := map[string]bool{}
	for _, f := range reflect.VisibleFields(request) {
		words := strings.Fields(f.Tag.Get("rule"))
		isRequired := len(words) > 0 && words[0] == "required"
		if isRequired {
			words = words[1:]
		}
		if f.Anonymous {
			for _, name := range words {
				required[name] = true
			}
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		field := Field{Name: name, Required: isRequired || required[name], Rule: Rule{Name: words[0]}, Index: f.Index}
		for _, word := range words[1:] {
			bound, err := strconv.ParseInt(word, 10, 64)
			if err != nil {
				panic("api: rule of " + name + ": " + err.Error())
			}
			field.Rule.Bounds = append(field.Rule.Bounds, bound)
		}
		fields = append(fields, field)
	}
	return fields
}
