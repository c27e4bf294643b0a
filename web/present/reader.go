package present

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"chequer/internal/client"
	"chequer/internal/locale"
)

// Reader describes the reader of a page: the language, and whether the address of the page chose the
// language with "?lang=". In that case the links of the page keep the parameter.
type Reader struct {
	*locale.Language
	Explicit bool
}

// English returns the reader of pages for developers, which are in English only.
func English() Reader { return Reader{locale.All().Default(), false} }

// WithLanguage returns an address of this site. If the reader chose the language explicitly, the address has the
// parameter "lang".
func (r Reader) WithLanguage(address string) string {
	if !r.Explicit {
		return address
	}
	return withParameter(address, "lang="+r.Code)
}

// withParameter adds a parameter to the query of an address.
func withParameter(address, parameter string) string {
	address, fragment, found := strings.Cut(address, "#")
	if found {
		fragment = "#" + fragment
	}
	if strings.Contains(address, "?") {
		return address + "&" + parameter + fragment
	}
	return address + "?" + parameter + fragment
}

// withoutLanguage returns a query without its "lang" parameter. The signature of a link does not
// cover that parameter, so the reader may choose a language for a signed link.
func withoutLanguage(query string) string {
	pairs := slices.DeleteFunc(strings.Split(query, "&"), func(pair string) bool { return strings.HasPrefix(pair, "lang=") })
	return strings.Join(pairs, "&")
}

// RefusalText returns the service's own message, which is in English, for an English page, and the
// given text for a page in another language.
func (r Reader) RefusalText(apiErr *client.Error, text string) string {
	if r.English() && apiErr.Message != "" {
		return apiErr.Message
	}
	return text
}

// capitalized returns a text with its first letter in upper case. The text may begin with the shop's name, which can be
// "the shop".
func (r Reader) capitalized(id string, pairs ...string) string {
	return capitalize(r.Text(id, pairs...))
}

// tooLong returns the text with the given key if typed has more than maximum characters, otherwise an empty
// text.
func (r Reader) tooLong(typed, id string, maximum int) string {
	if !isLonger(typed, maximum) {
		return ""
	}
	return r.Text(id, "Number", strconv.Itoa(maximum))
}

func isLonger(typed string, maximum int) bool { return utf8.RuneCountInString(typed) > maximum }

// joinSentences joins sentences with spaces and omits empty sentences.
func joinSentences(sentences ...string) string {
	return strings.Join(slices.DeleteFunc(sentences, func(s string) bool { return s == "" }), " ")
}

// capitalize returns words with the first letter in upper case.
func capitalize(words string) string {
	first, size := utf8.DecodeRuneInString(words)
	return string(unicode.ToUpper(first)) + words[size:]
}

// printable returns a text as one line. It replaces each control character by a space. It removes the
// characters that change the direction of the text after them, so that the name of a shop cannot change
// the direction of an amount beside it. See Unicode Standard Annex #9, "Directional Formatting
// Characters".
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case isDirectional(r):
			return -1
		case unicode.IsControl(r) || r == '\u2028' || r == '\u2029':
			return ' '
		}
		return r
	}, text)
}

func isDirectional(r rune) bool {
	return r == '\u061c' || r == '\u200e' || r == '\u200f' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// CleanText returns a typed text without control characters and without the characters that change the direction
// of the text after them. Line feeds are kept only if lines is true.
func CleanText(text string, lines bool) string {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\r\n", "\n"), "")
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' && lines:
			return r
		case r == '\n' || r == '\t' || r == '\u2028' || r == '\u2029':
			return ' '
		case unicode.IsControl(r) || isDirectional(r):
			return -1
		}
		return r
	}, text)
	return strings.TrimSpace(text)
}
