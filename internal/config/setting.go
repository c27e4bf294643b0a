package config

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"sync"
)

// Setting is a setting in the form that is shown to the operator.
type Setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`  // without secrets
	Source string `json:"source"` // "environment", "default", the settings file, or the file that contains the value
	About  string `json:"about"`
}

// Settings returns every setting in the order of Config, with its current value and its source.
// Values contain no secrets.
func (c Config) Settings() []Setting {
	var found []Setting
	value := reflect.ValueOf(c)
	for _, d := range definitions() {
		source, isGiven := c.source[d.name]
		if !isGiven {
			source = SourceDefault
		}
		found = append(found, Setting{
			Name: d.name, About: d.description, Source: source,
			Value: redacted(fmt.Sprint(value.FieldByIndex(d.index).Interface()), d.show),
		})
	}
	return found
}

// redacted returns a value in the form that the tag show defines.
func redacted(value, show string) string {
	switch {
	case value == "" || show == "":
		return value
	case show == "url":
		return withoutPassword(value)
	case show == "endpoints":
		return shownRPC(value)
	}
	return "(set)"
}

// withoutPassword returns an address without its password and query.
func withoutPassword(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Opaque != "" && u.Scheme != "sqlite" {
		return "(set)"
	}
	if u.RawQuery != "" {
		u.RawQuery = "…"
	}
	return u.Redacted()
}

// definition is a setting as defined by the tags of a field of Config.
type definition struct {
	name, description, show string
	field                   string // name of the field
	index                   []int  // position of the field in Config
}

// definitions returns the settings in the order of Config.
var definitions = sync.OnceValue(func() []definition {
	return definitionsOf(reflect.TypeFor[Config](), prefix, nil)
})

// definitionsOf returns the settings that the fields of a struct define. The prefix is put before their
// names, and index is the position of the struct in Config.
func definitionsOf(t reflect.Type, prefix string, index []int) []definition {
	var found []definition
	for i := range t.NumField() {
		field := t.Field(i)
		at := append(slices.Clone(index), i)
		name, isSetting := field.Tag.Lookup("env")
		switch {
		case isSetting:
			found = append(found, definition{name: prefix + name, field: field.Name, description: field.Tag.Get("about"), show: field.Tag.Get("show"), index: at})
		case field.IsExported() && field.Type.Kind() == reflect.Struct:
			found = append(found, definitionsOf(field.Type, prefix+field.Tag.Get("envPrefix"), at)...)
		}
	}
	return found
}

// isSetting reports whether a setting has the name.
func isSetting(name string) bool {
	return slices.ContainsFunc(definitions(), func(d definition) bool { return d.name == name })
}
