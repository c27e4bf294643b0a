package greenfield

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"chequer/internal/httpapi"
)

// Bounds of a request.
const (
	maxMetadata = 64 << 10
	maxBody     = maxMetadata + 32<<10
)

var errInvalidJSON = &refusal{status: http.StatusBadRequest, Code: "json-validation-failed", Message: "The body of the request must be one JSON object in UTF-8"}

// decode reads the JSON object in the body of a request. Unlike the server's own API it ignores unknown fields, because
// plug-ins send fields of their own. A null is a missing value.
func decode[T any](c echo.Context) (r T, err error) {
	body, err := httpapi.ReadBody(c, maxBody)
	if err != nil {
		return r, err
	}
	if !utf8.Valid(body) {
		return r, errInvalidJSON
	}
	err = json.Unmarshal(body, &r)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		return r, &fieldFault{Path: wrong.Field, Message: "The value must not be a JSON " + wrong.Value}
	}
	if err != nil {
		return r, errInvalidJSON
	}
	return r, nil
}

// scalar is a text, a number or null, as text: plug-ins send both for amounts, for numbers of minutes and for order IDs.
type scalar string

// UnmarshalJSON implements json.Unmarshaler.
func (s *scalar) UnmarshalJSON(literal []byte) error {
	switch {
	case string(literal) == "null":
		return nil
	case literal[0] == '"':
		var text string
		err := json.Unmarshal(literal, &text)
		*s = scalar(text)
		return err
	case literal[0] == '-' || literal[0] >= '0' && literal[0] <= '9':
		*s = scalar(literal)
		return nil
	}
	return &json.UnmarshalTypeError{Value: kindOf(literal)}
}

// flag is a boolean. Plug-ins may send it as a text or a number, too; null is false.
type flag bool

// UnmarshalJSON implements json.Unmarshaler.
func (f *flag) UnmarshalJSON(literal []byte) error {
	if literal[0] == '{' || literal[0] == '[' {
		return &json.UnmarshalTypeError{Value: kindOf(literal)}
	}
	text := strings.ToLower(strings.Trim(string(literal), `"`))
	*f = text == "true" || text == "1"
	return nil
}

// kindOf returns the kind of a JSON value that is neither a text nor a number.
func kindOf(literal []byte) string {
	switch literal[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	}
	return "boolean"
}
