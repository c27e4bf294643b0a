package server

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"

	"chequer/internal/api"
	"chequer/internal/merchant"
	"chequer/internal/wire"
)

// parser returns the function that parses the value of a field of a request into a variable, by the
// rule of the field. If the variable is a pointer, the function sets it to a new variable.
func parser(target reflect.Value, rule api.Rule) func(any) error {
	if target.Kind() == reflect.Pointer {
		to := reflect.New(target.Type().Elem())
		parse := parser(to.Elem(), rule)
		return func(value any) error {
			target.Set(to)
			return parse(value)
		}
	}
	switch to := target.Addr().Interface().(type) {
	case *string:
		return textParser(to, rule)
	case *json.Number:
		return amount((*string)(to))
	case *bool:
		return boolean(to)
	case *[]byte:
		return base64Text(to)
	case *map[string]string:
		return metadata(to)
	case *[]string:
		return listParser(to, rule)
	}
	return wholeNumber(target, rule)
}

// listParser is parser for a list of texts.
func listParser(to *[]string, rule api.Rule) func(any) error {
	switch rule.Name {
	case "codes":
		return methods(to)
	case "choice":
		return choice(to)
	case "types":
		return eventTypes(to)
	case "subscription":
		return subscription(to)
	}
	panic("server: unknown rule " + rule.Name)
}

// bounded are the rules of texts with a maximum of characters.
var bounded = map[string]func(text string, maximum int) error{
	"text": merchant.CheckText, "line": merchant.CheckLine, "paragraph": merchant.CheckParagraph,
}

// textParser is parser for a text.
func textParser(to *string, rule api.Rule) func(any) error {
	if check, ok := bounded[rule.Name]; ok {
		return checked(to, "must be a string", func(t string) error { return check(t, int(rule.Bounds[0])) })
	}
	switch rule.Name {
	case "amount":
		return amount(to)
	case "percent":
		return percent(to)
	case "url":
		return returnURL(to)
	case "language":
		return language(to)
	case "asking":
		return checked(to, merchant.Requirement("").Check().Error(), func(t string) error { return merchant.Requirement(t).Check() })
	case "time":
		return checked(to, wire.ErrTime.Error(), func(t string) error { _, err := wire.ParseTime(t); return err })
	}
	panic("server: unknown rule " + rule.Name)
}

// checked parses a text that a rule accepts. The error for a value that is no text is fault.
func checked(target *string, fault string, rule func(string) error) func(any) error {
	return func(value any) error {
		t, ok := value.(string)
		if !ok {
			return errors.New(fault)
		}
		*target = t
		return rule(t)
	}
}

// text parses a text of at most a number of characters.
func text(target *string, maximum int) func(any) error {
	return checked(target, "must be a string", func(t string) error { return merchant.CheckText(t, maximum) })
}

// language parses a language tag.
func language(target *string) func(any) error {
	return checked(target, merchant.CheckLanguage("").Error(), merchant.CheckLanguage)
}

// returnURL parses an address to which the shopper may be sent.
func returnURL(target *string) func(any) error {
	return checked(target, "must be a string", func(t string) (err error) {
		*target, err = merchant.ParseReturnURL(t)
		return err
	})
}

// amount parses a JSON number, or a string of digits, into plain digits. It never uses a float.
func amount(target *string) func(any) error {
	return func(value any) (err error) {
		switch v := value.(type) {
		case json.Number:
			*target, err = api.Plain(v)
		case string:
			*target, err = merchant.ParseAmount(v)
		default:
			return api.ErrNotNumber
		}
		if errors.Is(err, api.ErrNegative) {
			return merchant.ErrNotPositive
		}
		return err
	}
}

// percent parses a VAT rate: a JSON number, a string of digits, or an empty string. It never uses a float.
func percent(target *string) func(any) error {
	return func(value any) (err error) {
		switch v := value.(type) {
		case json.Number:
			*target, err = api.Plain(v)
		case string:
			*target = v
		default:
			return api.ErrNotNumber
		}
		if err == nil {
			_, err = merchant.ParseVATRate(*target)
		}
		return err
	}
}

// boolean parses a boolean.
func boolean(target *bool) func(any) error {
	return func(value any) (err error) {
		b, ok := value.(bool)
		if !ok {
			return errors.New("must be true or false")
		}
		*target = b
		return nil
	}
}

// wholeNumber parses a whole number within the bounds of a rule.
func wholeNumber(target reflect.Value, rule api.Rule) func(any) error {
	minimum, maximum, unit := rule.Bounds[0], int64(math.MaxInt64), ""
	if rule.Name == "seconds" {
		unit = " of seconds"
	}
	outOfRange := fmt.Errorf("must be a whole number%s of at least %d", unit, minimum)
	if len(rule.Bounds) > 1 {
		maximum = rule.Bounds[1]
		outOfRange = fmt.Errorf("must be a whole number%s from %d to %d", unit, minimum, maximum)
	}
	return func(value any) error {
		number, _ := value.(json.Number)
		n, err := strconv.ParseInt(number.String(), 10, 64)
		if err != nil || n < minimum || n > maximum {
			return outOfRange
		}
		target.SetInt(n)
		return nil
	}
}

// base64Text parses base64-encoded bytes.
func base64Text(target *[]byte) func(any) error {
	return func(value any) error {
		t, ok := value.(string)
		if !ok {
			return errors.New("must be a string")
		}
		bytes, err := base64.StdEncoding.DecodeString(t)
		if err != nil {
			return errors.New("must be base64, as in RFC 4648, section 4")
		}
		*target = bytes
		return nil
	}
}

// maxMetadata bounds the names and values of metadata together, in bytes.
const maxMetadata = 8 << 10

// metadata parses an object of texts.
func metadata(target *map[string]string) func(any) error {
	return func(value any) error {
		object, ok := value.(map[string]any)
		if !ok {
			return errors.New("must be an object whose values are strings")
		}
		texts, size := map[string]string{}, 0
		for name, v := range object {
			t, ok := v.(string)
			if !ok {
				return errors.New("must be an object whose values are strings")
			}
			texts[name] = t
			size += len(name) + len(t)
		}
		if size > maxMetadata {
			return errors.New("must have at most 8 KiB")
		}
		*target = texts
		return nil
	}
}

// methodPattern matches the form of an asset's code.
var methodPattern = regexp.MustCompile(`^[A-Z0-9]{2,10}(-[A-Z0-9]{2,12})?$`)

// maxMethods bounds the list of payment methods. It is more than a server offers.
const maxMethods = 50

// methods parses a list of asset codes.
func methods(target *[]string) func(any) error {
	return func(value any) error {
		list, _ := value.([]any)
		if len(list) == 0 || len(list) > maxMethods {
			return errors.New("must be a list of codes such as BTC, and not empty")
		}
		for _, code := range stringsOf(list) {
			if !methodPattern.MatchString(code) {
				return errors.New("must be a list of codes such as BTC or EURC-BASE")
			}
			if slices.Contains(*target, code) {
				return errors.New("must not contain a code twice")
			}
			*target = append(*target, code)
		}
		return nil
	}
}

// choice parses a list of payment methods. An empty list selects the merchant's own setting.
func choice(target *[]string) func(any) error {
	return func(value any) error {
		list, ok := value.([]any)
		if !ok {
			return errors.New("must be a list of codes such as BTC")
		}
		*target = stringsOf(list)
		_, err := merchant.NewMethods(*target)
		return err
	}
}

// eventTypes parses a list of event types without duplicates that is not empty.
func eventTypes(target *[]string) func(any) error {
	return func(value any) error {
		if list, ok := value.([]any); ok && len(list) == 0 {
			return errors.New("must be a list of types such as invoice.paid, and not empty")
		}
		return subscription(target)(value)
	}
}

// subscription parses a list of event types without duplicates. An empty list means all types.
func subscription(target *[]string) func(any) error {
	return func(value any) error {
		list, ok := value.([]any)
		if !ok {
			return errors.New("must be a list of types such as invoice.paid")
		}
		*target = []string{}
		for _, name := range stringsOf(list) {
			if !slices.Contains(wire.EventTypes(), name) {
				return fmt.Errorf("must be a list of types such as invoice.paid, which do not include %s", strconv.QuoteToASCII(name[:min(len(name), 64)]))
			}
			if slices.Contains(*target, name) {
				return errors.New("must not contain a type twice")
			}
			*target = append(*target, name)
		}
		return nil
	}
}

// stringsOf returns the texts of a list; other values are empty texts.
func stringsOf(list []any) []string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i], _ = v.(string)
	}
	return texts
}
