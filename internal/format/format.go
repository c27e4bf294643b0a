// Package format writes numbers and untrusted texts for people, and texts for URIs.
package format

import (
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Grouped writes a number with thousands separators: 870,123.
func Grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Plural writes a number with its noun: 1 sale, 2 sales.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Grouped(int64(n)) + " " + noun + "s"
}

// OneLine returns the beginning of an untrusted text in a form that logs, terminals and databases can take: one
// line of valid UTF-8 with at most maximum characters, printable ones and single spaces only. A shortened text
// ends with an ellipsis.
func OneLine(text string, maximum int) string {
	// A character has at most four bytes. Of a longer text only what can remain is converted, because the text
	// may be a large answer of a foreign server; the spaces at its start do not count.
	text = strings.TrimLeftFunc(text, unicode.IsSpace)
	isCut := len(text) > 4*utf8.UTFMax*maximum
	if isCut {
		text = text[:4*utf8.UTFMax*maximum]
	}
	words := strings.FieldsFunc(strings.ToValidUTF8(text, ""), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	})
	runes := []rune(strings.Join(words, " "))
	if isCut || len(runes) > maximum {
		return string(runes[:min(len(runes), maximum-1)]) + "…"
	}
	return string(runes)
}

// PercentEncode encodes all characters except letters, digits and "-._~", the unreserved characters of RFC 3986,
// section 2.3. Unlike url.QueryEscape it writes a space as %20, because a plus stands for itself in URIs that
// are not queries of forms.
func PercentEncode(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}
