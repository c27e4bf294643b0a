package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"chequer/internal/api"
	"chequer/internal/merchant"
)

// checked parses a text that a rule accepts.
func checked(into *string, rule func(string) error) func(any) error {
	return func(value any) error {
		t, ok := value.(string)
		if !ok {
			return errors.New("must be a text")
		}
		if err := rule(t); err != nil {
			return err
		}
		*into = t
		return nil
	}
}

// text parses a text of at most a number of characters.
func text(into *string, most int) func(any) error {
	return checked(into, func(t string) error { return merchant.CheckText(t, most) })
}

// line parses a text of one line that other people see.
func line(into *string, most int) func(any) error {
	return checked(into, func(t string) error { return merchant.CheckLine(t, most) })
}

// paragraph is line for a text that may have several lines.
func paragraph(into *string, most int) func(any) error {
	return checked(into, func(t string) error { return merchant.CheckParagraph(t, most) })
}

// amount parses a JSON number, or a string of digits, into plain digits. It never uses a float.
func amount(into *string) func(any) error {
	return func(value any) (err error) {
		switch v := value.(type) {
		case json.Number:
			*into, err = api.Plain(v)
		case string:
			*into, err = merchant.ParseAmount(v)
		default:
			return api.ErrNotNumber
		}
		if errors.Is(err, api.ErrNegative) {
			return merchant.ErrNotPositive
		}
		return err
	}
}

// returnURL parses an address to which the shopper may be sent.
func returnURL(into *string) func(any) error {
	return func(value any) (err error) {
		t, ok := value.(string)
		if !ok {
			return errors.New("must be a text")
		}
		*into, err = merchant.ParseReturnURL(t)
		return err
	}
}

// between parses a whole number within bounds.
func between(into *int, least, most int) func(any) error {
	return func(value any) error {
		number, _ := value.(json.Number)
		n, err := strconv.Atoi(number.String())
		if err != nil {
			n = least - 1
		}
		*into = n
		return merchant.CheckWhole(n, least, most)
	}
}

// boolean parses a boolean.
func boolean(into *bool) func(any) error {
	return func(value any) error {
		b, ok := value.(bool)
		if !ok {
			return errors.New("must be true or false")
		}
		*into = b
		return nil
	}
}

// Bounds of the time for which a price is held, in seconds.
const (
	minHold = 60
	maxHold = 86_400
)

// hold parses the time for which a price is held, in whole seconds.
func hold(into *time.Duration) func(any) error {
	return func(value any) error {
		number, _ := value.(json.Number)
		seconds, err := strconv.Atoi(number.String())
		if err != nil || seconds < minHold || seconds > maxHold {
			return fmt.Errorf("must be a whole number of seconds from %d to %d", minHold, maxHold)
		}
		*into = time.Duration(seconds) * time.Second
		return nil
	}
}

// maxMetadata bounds the names and values of metadata together, in bytes.
const maxMetadata = 8 << 10

// metadata parses an object of texts.
func metadata(into *map[string]string) func(any) error {
	return func(value any) error {
		object, ok := value.(map[string]any)
		if !ok {
			return errors.New("must be an object of texts")
		}
		texts, size := map[string]string{}, 0
		for name, v := range object {
			t, ok := v.(string)
			if !ok {
				return errors.New("must be an object of texts")
			}
			texts[name] = t
			size += len(name) + len(t)
		}
		if size > maxMetadata {
			return errors.New("must have at most 8 KiB")
		}
		*into = texts
		return nil
	}
}

// language parses a language tag.
func language(into *string) func(any) error {
	return func(value any) error {
		t, _ := value.(string)
		*into = t
		return merchant.CheckLanguage(t)
	}
}

// methodPattern matches the form of an asset's code.
var methodPattern = regexp.MustCompile(`^[A-Z0-9]{2,10}(-[A-Z0-9]{2,12})?$`)

// maxMethods bounds the list of payment methods. It is more than a server offers.
const maxMethods = 50

// methods parses a list of asset codes.
func methods(into *[]string) func(any) error {
	return func(value any) error {
		list, _ := value.([]any)
		if len(list) == 0 || len(list) > maxMethods {
			return errors.New("must be a list of codes such as BTC, and not empty")
		}
		var codes []string
		for _, v := range list {
			code, _ := v.(string)
			if !methodPattern.MatchString(code) {
				return errors.New("must be a list of codes such as BTC or EURC-BASE")
			}
			if slices.Contains(codes, code) {
				return errors.New("must not hold a code twice")
			}
			codes = append(codes, code)
		}
		*into = codes
		return nil
	}
}
