package server

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"chequer/internal/invoice"
)

// parameter takes the value of a query parameter. What it returns is the end of a
// sentence that begins with the parameter's name.
type parameter func(value string) error

// query reads the parameters of a request as strictly as decode does its body: a
// misspelt filter would list what was not asked for.
func query(raw string, parameters map[string]parameter) error {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return badRequest("invalid_query", "The query of the address is not well formed")
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		given := values[name]
		take, known := parameters[name]
		switch {
		case !known:
			return badRequest("unknown_parameter", fieldWords.Replace(quote(name))+" is unknown")
		case len(given) > 1:
			return invalid(name, "is given twice")
		case !utf8.ValidString(given[0]) || strings.ContainsRune(given[0], 0):
			return invalid(name, "is not text")
		}
		if err := take(given[0]); err != nil {
			return invalid(name, err.Error())
		}
	}
	return nil
}

// fieldWords makes a parameter of what quote names.
var fieldWords = strings.NewReplacer("A field", "A parameter", "Field ", "Parameter ")

// filters are the parameters that say which invoices are meant.
func filters(f *invoice.Filter) map[string]parameter {
	return map[string]parameter{
		"status": word(&f.Status, invoice.Created, invoice.Pending, invoice.Paid, invoice.Expired, invoice.Declined),
		"from":   moment(&f.From), "to": moment(&f.To),
	}
}

// word takes one of some words.
func word[T ~string](into *T, words ...T) parameter {
	return func(value string) error {
		if !slices.Contains(words, T(value)) {
			return fmt.Errorf("must be one of %s", joined(words))
		}
		*into = T(value)
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

// moment takes a time, or the beginning of a day in UTC.
func moment(into *time.Time) parameter {
	return func(value string) error {
		for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
			if at, err := time.Parse(layout, value); err == nil {
				*into = at.UTC()
				return nil
			}
		}
		return errors.New("must be a day or a time such as 2026-11-27 or 2026-11-27T12:00:00Z")
	}
}

// plainText takes a text of at most so many characters, and not none.
func plainText(into *string, most int) parameter {
	return func(value string) error {
		if n := utf8.RuneCountInString(value); n == 0 || n > most {
			return fmt.Errorf("must have 1 to %d characters", most)
		}
		*into = value
		return nil
	}
}

// within takes a whole number.
func within[T int | int64](into *T, least, most T) parameter {
	return func(value string) error {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < int64(least) || n > int64(most) {
			return fmt.Errorf("must be a whole number from %d to %d", least, most)
		}
		*into = T(n)
		return nil
	}
}

// cursor writes a place in the list, with all of the time's precision.
func cursor(p invoice.Place) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(p.CreatedAt.UnixNano(), 10) + "." + p.ID))
}

// place takes what cursor wrote, and nothing else.
func place(into *invoice.Place) parameter {
	return func(value string) error {
		text, err := base64.RawURLEncoding.DecodeString(value)
		at, id, _ := strings.Cut(string(text), ".")
		ns, notNumber := strconv.ParseInt(at, 10, 64)
		p := invoice.Place{CreatedAt: time.Unix(0, ns).UTC(), ID: id}
		if err != nil || notNumber != nil || !idPattern.MatchString(id) || cursor(p) != value {
			return errors.New("must be a next_cursor of this list")
		}
		*into = p
		return nil
	}
}
