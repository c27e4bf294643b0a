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

// clean returns a text on one line in characters that the fonts have. It first combines separate
// marks with their letters. It removes invisible characters, above all those that reverse the
// direction of text: see Unicode Standard Annex #9. Other missing characters are shown as the
// replacement character, and a note at the end of the document mentions them.
func (s *sheet) clean(text string) string {
	var b strings.Builder
	for _, r := range norm.NFC.String(text) {
		switch {
		case unicode.IsSpace(r) && r != '\u00a0' && r != '\u202f':
			b.WriteByte(' ')
		case unicode.Is(unicode.Cc, r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r):
		case r == replacement || !unicode.Is(covered, r):
			s.replaced = true
			if !unicode.Is(unicode.M, r) { // the letter below a mark already has its replacement
				b.WriteRune(replacement)
			}
		default:
			b.WriteRune(r)
		}
	}
	return strings.Trim(spaces.ReplaceAllString(b.String(), " "), " ")
}
