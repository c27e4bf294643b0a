// Package receipt writes the receipt of a payment as a PDF document. The caller provides all texts.
package receipt

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"codeberg.org/go-pdf/fpdf"
)

// Receipt is the content of a receipt, with every text ready for display.
type Receipt struct {
	Title     string // title of the document, for lists of files and tabs
	Lang      string // BCP 47
	Shop      string
	Label     string // "Order 1042 · Ref. aK3x-9QfW"
	Banner    string // states that the payment was a test; empty for a live payment
	Due       Due
	Heading   string
	Facts     []Fact
	Notes     []Note
	Summary   Summary
	Footing   string   // what the document is and is not
	ShopTexts []string // one per line
	// Replaced is a note that is shown if characters were replaced.
	Replaced string
	// At is the time of payment. The document has it as its creation time, so that the same receipt
	// always gives the same bytes.
	At time.Time
}

// Due is the amount at the top.
type Due struct{ Label, Amount, Line string }

// Fact is a row of label and value.
type Fact struct{ Label, Value string }

// Note is a highlighted paragraph.
type Note struct{ Strong, Text string }

// Summary describes what was paid for.
type Summary struct {
	Heading, Text string
	Rows          []Fact
}

//go:embed font/NotoSans-Regular.ttf
var regular []byte

//go:embed font/NotoSans-Bold.ttf
var bold []byte

// Lengths are in millimetres, sizes of letters in points.
const (
	side   = 25.0
	top    = 22.0
	bottom = 24.0
	labels = 42.0 // width of the column of labels
	family = "noto"
)

// ink and grey are the colours of text, line is the colour of lines between rows.
var (
	ink  = [3]int{24, 26, 32}
	grey = [3]int{92, 96, 108}
	line = [3]int{214, 216, 222}
)

// sheet is a document that is being written.
type sheet struct {
	*fpdf.Fpdf
	width    float64 // width of the text
	replaced bool
}

// Write returns the document. The same receipt always gives the same bytes.
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

// head writes the shop and the paid amount.
func (s *sheet) head(r Receipt) {
	if r.Banner != "" {
		s.paragraph("B", 12, ink, r.Banner)
		s.Ln(4)
	}
	s.paragraph("B", 14, ink, r.Shop)
	s.paragraph("", 10, grey, r.Label)
	s.Ln(10)
	s.paragraph("", 10, grey, r.Due.Label)
	s.paragraph("B", 28, ink, r.Due.Amount)
	s.paragraph("", 10, grey, r.Due.Line)
	s.Ln(8)
}

// body writes the facts, the notes, and what was paid for.
func (s *sheet) body(r Receipt) {
	s.paragraph("B", 13, ink, r.Heading)
	s.Ln(3)
	s.rows(r.Facts)
	for _, n := range r.Notes {
		s.Ln(5)
		s.paragraph("B", 10, ink, n.Strong)
		s.paragraph("", 10, ink, n.Text)
	}
	s.Ln(9)
	s.paragraph("B", 13, ink, r.Summary.Heading)
	s.Ln(1)
	s.paragraph("", 10, ink, r.Summary.Text)
	s.Ln(3)
	s.rows(r.Summary.Rows)
	s.Ln(9)
	for _, line := range r.ShopTexts {
		s.paragraph("", 9, ink, line)
	}
	s.paragraph("", 9, grey, r.Footing)
	if s.replaced {
		s.paragraph("", 9, grey, r.Replaced)
	}
}

// paragraph writes a paragraph with line breaks. An empty text writes nothing.
func (s *sheet) paragraph(style string, size float64, colour [3]int, text string) {
	if text = s.clean(text); text == "" {
		return
	}
	s.SetFont(family, style, size)
	s.SetTextColor(colour[0], colour[1], colour[2])
	s.MultiCell(s.width, height(size), text, "", "L", false)
}

// height returns the height of a line.
func height(size float64) float64 { return size * 0.52 }

// rows writes facts with a thin line above each. A row is kept on one page, unless it is longer
// than a page.
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
		if small { // keeps a transaction's identifier on one line
			s.SetFontSize(smaller)
		}
		s.MultiCell(s.width-labels, height(size), value, "", "L", false)
		if s.PageNo() == on {
			s.SetY(max(after, s.GetY()))
		}
		s.Ln(2)
	}
}
