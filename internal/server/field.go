package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// text parses a text of at most a number of characters.
func text(into *string, most int) func(any) error {
	return func(value any) error {
		t, ok := value.(string)
		if !ok {
			return errors.New("must be a text")
		}
		if utf8.RuneCountInString(t) > most {
			return fmt.Errorf("must have at most %d characters", most)
		}
		*into = t
		return nil
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

// languagePattern matches the form of a BCP 47 tag. The pages decide whether they have the
// language.
var languagePattern = regexp.MustCompile(`^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,4}$`)

// language parses a language tag.
func language(into *string) func(any) error {
	return func(value any) error {
		t, _ := value.(string)
		if !languagePattern.MatchString(t) {
			return errors.New("must be a language tag such as de or pt-BR")
		}
		*into = t
		return nil
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
