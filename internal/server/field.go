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

// text takes a text of at most so many characters.
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

// yes takes true or false.
func yes(into *bool) func(any) error {
	return func(value any) error {
		b, ok := value.(bool)
		if !ok {
			return errors.New("must be true or false")
		}
		*into = b
		return nil
	}
}

// Bounds of a hold, in seconds.
const (
	minHold = 60
	maxHold = 86_400
)

// hold takes how long a price is held, in whole seconds.
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

// metadata takes an object of texts.
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

// languagePattern is the shape of a BCP 47 tag; whether we speak the language is
// for the pages to see.
var languagePattern = regexp.MustCompile(`^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,4}$`)

// language takes a language tag.
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

// methodPattern is the shape of an asset's code.
var methodPattern = regexp.MustCompile(`^[A-Z0-9]{2,10}(-[A-Z0-9]{2,12})?$`)

// maxMethods is more than anybody offers.
const maxMethods = 50

// methods takes a list of asset codes.
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
