package receipt

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// replacement is shown for characters that the fonts do not have.
const replacement = '\ufffd'

var spaces = regexp.MustCompile(` {2,}`)

// clean returns a text as one line that has only characters of the fonts. It combines marks with their
// letters where a combined character exists (normalization form C). It removes invisible characters,
// such as those that reverse the direction of text; see Unicode Standard Annex #9. It replaces other
// characters that the fonts do not have by the replacement character, and sets s.replaced, so that a
// note at the end of the document mentions them.
func (s *sheet) clean(text string) string {
	var b strings.Builder
	for _, r := range norm.NFC.String(text) {
		switch {
		case unicode.IsSpace(r) && r != '\u00a0' && r != '\u202f':
			b.WriteByte(' ')
		case unicode.Is(unicode.Cc, r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r):
		case r == replacement || !unicode.Is(covered, r):
			s.replaced = true
			if !unicode.Is(unicode.M, r) { // a missing mark is removed, so that a letter gets at most one replacement
				b.WriteRune(replacement)
			}
		default:
			b.WriteRune(r)
		}
	}
	return strings.Trim(spaces.ReplaceAllString(b.String(), " "), " ")
}
