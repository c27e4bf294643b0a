package receipt

import "unicode"

// Covered returns the characters that a document shows unchanged.
func Covered() []rune {
	var all []rune
	for _, r := range covered.R16 {
		for c := r.Lo; c <= r.Hi; c++ {
			if !unicode.IsSpace(rune(c)) && rune(c) != replacement && c != '\u00ad' {
				all = append(all, rune(c))
			}
		}
	}
	return all
}
