// Package receipt writes the receipt of a payment as a PDF document. What it says
// comes whole from who calls.
package receipt

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"codeberg.org/go-pdf/fpdf"
)

// Receipt is what a receipt says, every text ready to be read.
type Receipt struct {
	Title   string // of the document, for lists of files and tabs
	Lang    string // BCP 47
	Shop    string
	Label   string // "Order 1042 · Ref. aK3x-9QfW"
	Banner  string // says that no real money moved; empty when it did
	Due     Due
	Heading string
	Facts   []Fact
	Notes   []Note
	Summary Summary
	Footing string   // what the document is, and is not
	Says    []string // what the shop says, a line each
	// Replaced is said when characters had to be left out.
	Replaced string
	// At is when it was paid. The document says that it was made then, so that it
	// is the same whenever it is asked for.
	At time.Time
}

// Due is the amount at its head.
type Due struct{ Label, Amount, Line string }

// Fact is a row.
type Fact struct{ Label, Value string }

// Note is a paragraph that stands out.
type Note struct{ Strong, Text string }

// Summary is what was paid for.
type Summary struct {
	Heading, Text string
	Rows          []Fact
}

//go:embed font/NotoSans-Regular.ttf
var regular []byte

//go:embed font/NotoSans-Bold.ttf
var bold []byte

// Lengths are in millimetres, but those of letters, which are in points.
const (
	side   = 25.0
	top    = 22.0
	bottom = 24.0
	labels = 42.0 // the column of labels
	family = "noto"
)

// grey and ink are what is written in; line is what parts it.
var (
	ink  = [3]int{24, 26, 32}
	grey = [3]int{92, 96, 108}
	line = [3]int{214, 216, 222}
)

// sheet is a document that is being written.
type sheet struct {
	*fpdf.Fpdf
	width    float64 // of the text
	replaced bool
}

// Write makes the document. The same receipt makes the same bytes.
func Write(r Receipt) ([]byte, error) {
	s := &sheet{Fpdf: fpdf.New("P", "mm", "A4", "")}
	s.SetCatalogSort(true)
	s.SetCreationDate(r.At.UTC())
	s.SetModificationDate(r.At.UTC())
	s.SetProducer("Chequer", false)
	s.SetTitle(s.clean(r.Title), true)
	s.SetLang(r.Lang)
	s.SetMargins(side, top, side)
	s.SetAutoPageBreak(true, bottom)
	s.AddUTF8FontFromBytes(family, "", regular)
	s.AddUTF8FontFromBytes(family, "B", bold)
	page, _ := s.GetPageSize()
	s.width = page - 2*side
	s.SetCellMargin(0)
	s.AddPage()
	s.head(r)
	s.body(r)
	var b bytes.Buffer
	if err := s.Output(&b); err != nil {
		return nil, fmt.Errorf("write receipt: %w", err)
	}
	return b.Bytes(), nil
}

// head is whose receipt it is, and how much was paid.
func (s *sheet) head(r Receipt) {
	if r.Banner != "" {
		s.say("B", 12, ink, r.Banner)
		s.Ln(4)
	}
	s.say("B", 14, ink, r.Shop)
	s.say("", 10, grey, r.Label)
	s.Ln(10)
	s.say("", 10, grey, r.Due.Label)
	s.say("B", 28, ink, r.Due.Amount)
	s.say("", 10, grey, r.Due.Line)
	s.Ln(8)
}

// body is the facts, what is unusual, and what it was for.
func (s *sheet) body(r Receipt) {
	s.say("B", 13, ink, r.Heading)
	s.Ln(3)
	s.rows(r.Facts)
	for _, n := range r.Notes {
		s.Ln(5)
		s.say("B", 10, ink, n.Strong)
		s.say("", 10, ink, n.Text)
	}
	s.Ln(9)
	s.say("B", 13, ink, r.Summary.Heading)
	s.Ln(1)
	s.say("", 10, ink, r.Summary.Text)
	s.Ln(3)
	s.rows(r.Summary.Rows)
	s.Ln(9)
	for _, line := range r.Says {
		s.say("", 9, ink, line)
	}
	s.say("", 9, grey, r.Footing)
	if s.replaced {
		s.say("", 9, grey, r.Replaced)
	}
}

// say writes a paragraph, which wraps; nothing for no text.
func (s *sheet) say(style string, size float64, colour [3]int, text string) {
	if text = s.clean(text); text == "" {
		return
	}
	s.SetFont(family, style, size)
	s.SetTextColor(colour[0], colour[1], colour[2])
	s.MultiCell(s.width, height(size), text, "", "L", false)
}

// height is that of a line.
func height(size float64) float64 { return size * 0.52 }

// rows writes facts, with a hairline above each. A row stays on one page, unless it
// is longer than one.
func (s *sheet) rows(facts []Fact) {
	const size, smaller = 10.0, 8.5
	for _, f := range facts {
		label, value := s.clean(f.Label), s.clean(f.Value)
		s.SetFont(family, "", size)
		small := s.GetStringWidth(value) > s.width-labels && !strings.Contains(value, " ")
		lines := max(len(s.SplitText(label, labels-4)), len(s.SplitText(value, s.width-labels)))
		_, page := s.GetPageSize()
		if tall := float64(lines)*height(size) + 5; s.GetY()+tall > page-bottom && tall < page-top-bottom {
			s.AddPage()
		}
		y := s.GetY()
		s.SetDrawColor(line[0], line[1], line[2])
		s.SetLineWidth(0.2)
		s.Line(side, y, side+s.width, y)
		s.SetXY(side, y+2)
		s.SetTextColor(grey[0], grey[1], grey[2])
		s.MultiCell(labels-4, height(size), label, "", "L", false)
		after, on := s.GetY(), s.PageNo()
		s.SetXY(side+labels, y+2)
		s.SetTextColor(ink[0], ink[1], ink[2])
		if small { // so that the whole of a transaction's number stands on one line
			s.SetFontSize(smaller)
		}
		s.MultiCell(s.width-labels, height(size), value, "", "L", false)
		if s.PageNo() == on {
			s.SetY(max(after, s.GetY()))
		}
		s.Ln(2)
	}
}
