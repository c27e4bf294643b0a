package openapi

import (
	"cmp"
	"slices"
	"strings"
)

// object returns the object that a schema describes. The object has a name if the schema is a reference.
func (r *reader) object(schema node) *Object {
	schema, name := r.follow(schema)
	o := &Object{Name: name, About: schema.text("description")}
	var required []string
	for _, n := range schema.at("required").items() {
		required = append(required, n.Value)
	}
	for _, m := range schema.at("properties").members() {
		o.Fields = append(o.Fields, Field{
			Name: m.name, Type: r.typeOf(m.value), About: r.describe(m.value, m.value), Required: slices.Contains(required, m.name),
		})
	}
	return o
}

// describe returns the description of a parameter or a member or, if it has none, of its schema, followed by the
// default value.
func (r *reader) describe(described, schema node) string {
	text := described.text("description")
	if text == "" {
		to, _ := r.follow(schema)
		text = to.text("description")
	}
	if value := schema.at("default"); value.exists() {
		text += " Default: `" + value.Value + "`."
	}
	return text
}

// typeOf returns the type of the values that a schema describes.
func (r *reader) typeOf(schema node) Type {
	schema, name := r.follow(schema)
	switch {
	case schema.at("properties").exists():
		return Type{Object: name}
	case len(schema.at("oneOf").items()) > 0:
		var words []string
		for _, variant := range schema.at("oneOf").items() {
			t := r.typeOf(variant)
			words = append(words, cmp.Or(t.Words, t.Object))
		}
		if words[0] == "" { // the variants are constants, which have no type
			return Type{Words: "string"}
		}
		return Type{Words: strings.Join(words, " or ")}
	case name == "Decimal":
		return Type{Words: "decimal string"}
	case strings.HasPrefix(name, "Time"):
		return Type{Words: "time"}
	}
	words := r.words(schema)
	if words == "array" {
		item := r.typeOf(schema.at("items"))
		return Type{Words: strings.TrimSpace("array of " + item.Words), Object: item.Object}
	}
	return Type{Words: words}
}

// words returns a schema's enumeration or, if it has none, its type. Of several types it returns the first.
func (r *reader) words(schema node) string {
	name := schema.text("type")
	for _, variant := range schema.at("type").items() {
		if variant.Value != "null" {
			name = variant.Value
			break
		}
	}
	var choice []string
	for _, variant := range schema.at("enum").items() {
		if variant.Value != "" {
			choice = append(choice, variant.Value)
		}
	}
	if choice != nil {
		return strings.Join(choice, ", ")
	}
	return name
}
