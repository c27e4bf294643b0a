package receipt

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// replacement stands for characters that the fonts do not have.
const replacement = '\ufffd'

var spaces = regexp.MustCompile(` {2,}`)

// clean is a text on one line in characters that the fonts have. Marks that were
// written apart are put together with their letter first. What no font shows is
// left out, above all what turns text around: see Unicode Standard Annex #9.
// Whatever else is missing shows as the replacement character, and is told below.
func (s *sheet) clean(text string) string {
	var b strings.Builder
	for _, r := range norm.NFC.String(text) {
		switch {
		case unicode.IsSpace(r) && r != '\u00a0' && r != '\u202f':
			b.WriteByte(' ')
		case unicode.Is(unicode.Cc, r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r):
		case r == replacement || !unicode.Is(covered, r):
			s.replaced = true
			if !unicode.Is(unicode.M, r) { // the letter below it is told already
				b.WriteRune(replacement)
			}
		default:
			b.WriteRune(r)
		}
	}
	return strings.Trim(spaces.ReplaceAllString(b.String(), " "), " ")
}
