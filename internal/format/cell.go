package format

import (
	"regexp"
	"strings"
)

// InertCell quotes a cell of a CSV file that a spreadsheet would read as a formula. An order number is chosen by a
// third party, and a formula in it could send the whole sheet to a third party. See OWASP, "CSV
// Injection".
func InertCell(cell string) string {
	if cell == "" || isAlphanumeric(cell[0]) && !strings.ContainsAny(cell, ";,|\t\r\n") { // neither pattern matches
		return cell
	}
	if strings.ContainsRune("\t\r\n", rune(cell[0])) || formula.MatchString(cell) {
		cell = "'" + cell
	}
	return newCell.ReplaceAllString(cell, "$1'$2")
}

func isAlphanumeric(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

const (
	// formulaSigns begin a formula. The second row are the characters that spreadsheets convert to
	// those of the first: full-width and small forms, and the minus sign.
	formulaSigns = `[=+@\-` +
		`\x{FF1D}\x{FF0B}\x{FF20}\x{FF0D}\x{FE66}\x{FE62}\x{FE6B}\x{FE63}\x{2212}]`
	// invisible are the characters that a spreadsheet may remove before a formula: space, control and
	// format characters, and others without a glyph.
	invisible = `\s\p{Z}\p{C}\x{034F}\x{115F}\x{1160}\x{17B4}\x{17B5}\x{2800}\x{3164}\x{FE00}-\x{FE0F}\x{FFA0}`
)

// formula matches a cell that begins with a formula.
var formula = regexp.MustCompile(`^[` + invisible + `]*` + formulaSigns)

// newCell matches a formula at the start of a cell in a spreadsheet that uses another separator,
// such as the semicolon that is usual in most of Europe.
var newCell = regexp.MustCompile(`([;,|\t\r\n]["'` + invisible + `]*)(` + formulaSigns + `)`)
