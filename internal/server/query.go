package server

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"chequer/internal/invoice"
)

// parameter parses the value of a query parameter. Its error completes a sentence that begins with
// the parameter's name.
type parameter func(value string) error

// parseQuery parses the parameters of a request as strictly as decode reads a body: a misspelt filter
// would list invoices that were not asked for.
func parseQuery(raw string, parameters map[string]parameter) error {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return badRequest("invalid_query", "The query of the address is malformed")
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		list := values[name]
		parse, known := parameters[name]
		switch {
		case !known:
			return badRequest("unknown_parameter", fieldWords.Replace(quote(name))+" is unknown")
		case len(list) > 1:
			return invalid(name, "is given twice")
		case !utf8.ValidString(list[0]) || strings.ContainsRune(list[0], 0):
			return invalid(name, "is not valid UTF-8")
		}
		if err := parse(list[0]); err != nil {
			return invalid(name, err.Error())
		}
	}
	return nil
}

// fieldWords changes the result of quote, which is about a field, into a text about a parameter.
var fieldWords = strings.NewReplacer("A field", "A parameter", "Field ", "Parameter ")

// oneOf parses a value that must be one of the given words.
func oneOf[T ~string](target *T, words ...T) parameter {
	return func(value string) error {
		if !slices.Contains(words, T(value)) {
			return fmt.Errorf("must be one of %s", joined(words))
		}
		*target = T(value)
		return nil
	}
}

func joined[T ~string](words []T) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = string(w)
	}
	return strings.Join(texts, ", ")
}

// moment parses a time, or a day, which means the beginning of the day in UTC.
func moment(target *time.Time) parameter {
	return func(value string) error {
		for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
			if at, err := time.Parse(layout, value); err == nil {
				*target = at.UTC()
				return nil
			}
		}
		return errors.New("must be a day or a time such as 2026-11-27 or 2026-11-27T12:00:00Z")
	}
}

// plainText parses a text with 1 to maximum characters.
func plainText(target *string, maximum int) parameter {
	return func(value string) error {
		if n := utf8.RuneCountInString(value); n == 0 || n > maximum {
			return fmt.Errorf("must have 1 to %d characters", maximum)
		}
		*target = value
		return nil
	}
}

// within parses a whole number from minimum to maximum.
func within[T int | int64](target *T, minimum, maximum T) parameter {
	return func(value string) error {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < int64(minimum) || n > int64(maximum) {
			return fmt.Errorf("must be a whole number from %d to %d", minimum, maximum)
		}
		*target = T(n)
		return nil
	}
}

// encodeCursor returns the cursor of a position in the list. It has the full precision of the position's time.
func encodeCursor(p invoice.Position) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(p.CreatedAt.UnixNano(), 10) + "." + p.ID))
}

// listCursor parses a result of encodeCursor whose ID matches a pattern, and refuses any other text.
func listCursor(target *invoice.Position, pattern *regexp.Regexp) parameter {
	return func(value string) error {
		text, err := base64.RawURLEncoding.DecodeString(value)
		at, id, _ := strings.Cut(string(text), ".")
		ns, notNumber := strconv.ParseInt(at, 10, 64)
		p := invoice.Position{CreatedAt: time.Unix(0, ns).UTC(), ID: id}
		if err != nil || notNumber != nil || !pattern.MatchString(id) || encodeCursor(p) != value {
			return errors.New("must be a next_cursor of this list")
		}
		*target = p
		return nil
	}
}
