package merchant

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// FieldError is a field that breaks a rule. Fault completes a sentence that begins with the name of
// the field, as do the errors of all functions that check or parse a value.
type FieldError struct{ Field, Fault string }

// Error implements error.
func (e *FieldError) Error() string { return e.Field + " " + e.Fault }

// invalid returns the FieldError of an error; nil if there is none.
func invalid(field string, err error) error {
	if err == nil {
		return nil
	}
	return &FieldError{Field: field, Fault: err.Error()}
}

// CheckText refuses a text with more than maximum characters.
func CheckText(text string, maximum int) error {
	if utf8.RuneCountInString(text) > maximum {
		return fmt.Errorf("must have at most %d characters", maximum)
	}
	return nil
}

// CheckLine refuses a text that is not one visible line. It refuses more than maximum characters, invalid
// UTF-8, and invisible characters: control characters, and characters that reverse the direction of
// the text after them. See Unicode Standard Annex #9, "Directional Formatting Characters".
func CheckLine(text string, maximum int) error { return checkVisible(text, maximum, "") }

// CheckParagraph is CheckLine for a text that may have several lines.
func CheckParagraph(text string, maximum int) error { return checkVisible(text, maximum, "\n") }

// checkVisible refuses more than maximum characters, invalid UTF-8, and invisible characters except those in allowed.
func checkVisible(text string, maximum int, allowed string) error {
	if err := CheckText(text, maximum); err != nil {
		return err
	}
	if !utf8.ValidString(text) {
		return errors.New("must be valid UTF-8")
	}
	for _, r := range text {
		reorders := r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' || r == '\u2028' || r == '\u2029'
		if reorders || unicode.IsControl(r) && !strings.ContainsRune(allowed, r) {
			return fmt.Errorf("must not contain the invisible character %U", r)
		}
	}
	return nil
}

// languagePattern matches the form of a BCP 47 tag. The pages decide whether they have the
// language.
var languagePattern = regexp.MustCompile(`^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,4}$`)

// CheckLanguage refuses a text that is not a language tag.
func CheckLanguage(text string) error {
	if !languagePattern.MatchString(text) {
		return errors.New("must be a language tag such as de or pt-BR")
	}
	return nil
}

// CheckWhole refuses a number outside of bounds.
func CheckWhole(n, minimum, maximum int) error {
	if n < minimum || n > maximum {
		return fmt.Errorf("must be a whole number from %d to %d", minimum, maximum)
	}
	return nil
}

// slugPattern matches a slug, which needs no escaping in a URL and can be read aloud.
var slugPattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$`)

func checkSlug(slug string) error {
	if !slugPattern.MatchString(slug) {
		return errors.New("must have 1 to 64 letters a to z, digits and hyphens")
	}
	return nil
}

// parseSlug returns the slug that a shopper typed, perhaps in capitals, or ErrNotFound if it is no slug,
// so that other texts are never looked up.
func parseSlug(text string) (string, error) {
	slug := strings.ToLower(text)
	if !slugPattern.MatchString(slug) {
		return "", ErrNotFound
	}
	return slug, nil
}
