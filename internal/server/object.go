package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"chequer/internal/api"
)

// field is a field of a request. The text of an error of set is the rest of a sentence that begins with
// the field's name.
type field struct {
	required bool
	set      func(value any) error
}

// maxDepth is the maximum nesting depth of lists and objects in a field.
const maxDepth = 2

// request decodes the JSON body of a call.
func request[T any](c echo.Context, k call) (r T, err error) {
	if err = requireJSON(c); err == nil {
		err = decode(k.body, &r)
	}
	return r, err
}

// optionalRequest is like request, but returns the zero request for an empty body.
func optionalRequest[T any](c echo.Context, k call) (r T, err error) {
	if len(k.body) == 0 {
		return r, nil
	}
	return request[T](c, k)
}

// decode reads a body that is one JSON object into a request of package api, by the rules of its
// fields.
func decode(body []byte, request any) error {
	to, fields := reflect.ValueOf(request).Elem(), map[string]field{}
	for _, f := range api.FieldsOf(to.Type()) {
		fields[f.Name] = field{required: f.Required, set: parser(to.FieldByIndex(f.Index), f.Rule)}
	}
	return decodeFields(body, fields)
}

// decodeFields reads a body that is one JSON object. It is stricter than encoding/json, which uses the
// last of two equal names, ignores the case of names, and replaces invalid text with U+FFFD. With
// these rules two programs could read different prices in one signed body.
func decodeFields(body []byte, fields map[string]field) error {
	if !utf8.Valid(body) {
		return badRequest("invalid_json", "The body is not valid UTF-8")
	}
	if !json.Valid(body) || !bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) {
		return badRequest("invalid_json", "The body is not one JSON object")
	}
	r := &reader{body: body, tokens: json.NewDecoder(bytes.NewReader(body))}
	r.tokens.UseNumber()
	if _, err := r.tokens.Token(); err != nil { // the opening brace
		return badRequest("invalid_json", "The body is not one JSON object")
	}
	present := map[string]bool{}
	for r.tokens.More() {
		if err := r.member(fields, present); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if fields[name].required && !present[name] {
			return invalid(name, "is required")
		}
	}
	return nil
}

// reader reads the values of a body that is valid JSON.
type reader struct {
	body   []byte
	tokens *json.Decoder
}

// member reads a name and its value. present has an entry for each name, which is false if the value is
// null.
func (r *reader) member(fields map[string]field, present map[string]bool) error {
	name, err := r.name()
	if err != nil {
		return badRequest("unknown_field", "The name of a field "+err.Error())
	}
	f, known := fields[name]
	if !known {
		return unknownField(name, fields)
	}
	if _, isRepeated := present[name]; isRepeated {
		return badRequest("duplicate_field", quote(name)+" is given twice")
	}
	value, err := r.value(maxDepth)
	present[name] = value != nil
	if err == nil && value != nil {
		err = f.set(value)
	}
	if err != nil {
		return invalid(name, err.Error())
	}
	return nil
}

// unknownField returns the error for an unknown field. If only the case of its name is wrong, the
// error states the right name.
func unknownField(name string, fields map[string]field) error {
	for known := range fields {
		if strings.EqualFold(name, known) {
			return badRequest("unknown_field", quote(name)+" must be written "+known)
		}
	}
	return badRequest("unknown_field", quote(name)+" is unknown")
}

// quote returns the subject of an error message about a field: its quoted name, or "A field" if the name
// is long or contains text that must not be in an error.
func quote(name string) string {
	if utf8.RuneCountInString(name) > 64 || strings.Contains(strings.ToLower(name), forbidden) {
		return "A field"
	}
	return "Field " + strconv.Quote(name)
}

// value reads a value: a string, json.Number, bool, nil, []any or map[string]any. Lists and objects may be
// nested depth levels deep.
func (r *reader) value(depth int) (any, error) {
	start := r.tokens.InputOffset()
	token, err := r.tokens.Token()
	if err != nil {
		return nil, errors.New("is not valid JSON")
	}
	switch t := token.(type) {
	case string:
		return t, checkText(t, r.body[start:r.tokens.InputOffset()])
	case json.Delim:
		switch {
		case depth == 0:
			return nil, errors.New("is nested too deeply")
		case t == '[':
			return r.list(depth - 1)
		}
		return r.object(depth - 1)
	}
	return token, nil
}

// list reads the rest of a list after its opening bracket.
func (r *reader) list(depth int) (any, error) {
	list := []any{}
	for r.tokens.More() {
		v, err := r.value(depth)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := r.tokens.Token() // the closing bracket
	return list, err
}

// object reads the rest of an object after its opening brace.
func (r *reader) object(depth int) (any, error) {
	object := map[string]any{}
	for r.tokens.More() {
		name, err := r.name()
		if err != nil {
			return nil, err
		}
		if _, isRepeated := object[name]; isRepeated {
			return nil, errors.New("has a name twice")
		}
		if object[name], err = r.value(depth); err != nil {
			return nil, err
		}
	}
	_, err := r.tokens.Token() // the closing brace
	return object, err
}

// name reads the name of a member.
func (r *reader) name() (string, error) {
	v, err := r.value(maxDepth)
	name, _ := v.(string)
	return name, err
}

// checkText returns an error for text that databases and other programs cannot store: U+0000, and half of
// a surrogate pair, which encoding/json replaces with U+FFFD. literal is the JSON string in the body,
// perhaps with characters before it.
func checkText(text string, literal []byte) error {
	if strings.ContainsRune(text, 0) {
		return errors.New("must not contain U+0000")
	}
	for rest := literal; ; {
		i := bytes.IndexByte(rest, '\\')
		if i < 0 {
			return nil
		}
		rest = rest[i:]
		first, ok := escaped(rest)
		if !ok {
			rest = rest[2:] // an escape of two characters, such as \n
			continue
		}
		rest = rest[6:] // an escape such as \u00e4
		if !utf16.IsSurrogate(first) {
			continue
		}
		second, _ := escaped(rest)
		if utf16.DecodeRune(first, second) == utf8.RuneError {
			return errors.New("must not contain half of a surrogate pair")
		}
		rest = rest[6:]
	}
}

// escaped returns the UTF-16 code unit of an escape such as \u00e4 at the start of literal, and reports
// whether there is one.
func escaped(literal []byte) (rune, bool) {
	if len(literal) < 6 || literal[0] != '\\' || literal[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(literal[2:6]), 16, 32)
	return rune(n), err == nil
}
