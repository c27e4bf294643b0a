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
	Banner    string // states that the payment was a test; "" for a live payment
	Due       Due
	Heading   string
	Facts     []Fact
	Notes     []Note
	Summary   Summary
	Footing   string   // states that the document is a receipt and not an invoice
	ShopTexts []string // one per line
	// Replaced is a note that is written if the fonts lack a character of a text.
	Replaced string
	// At is the time of payment. It is also the creation time of the document, so that the same receipt
	// always gives the same bytes.
	At time.Time
}

// Due is the amount at the top, with the label above it and the line of details below it.
type Due struct{ Label, Amount, Line string }

// Fact is a row with a label and a value.
type Fact struct{ Label, Value string }

// Note is a highlighted paragraph.
type Note struct{ Strong, Text string }

// Summary describes what was paid for.
type Summary struct {
	Heading, Text string
	Rows          []Fact
}

//go:embed font/NotoSans-Regular.ttf
var regularFont []byte

//go:embed font/NotoSans-Bold.ttf
var boldFont []byte

// Lengths are in millimetres, font sizes in points.
const (
	sideMargin   = 25.0
	topMargin    = 22.0
	bottomMargin = 24.0
	labelWidth   = 42.0 // width of the column of labels
	fontFamily   = "noto"
)

// textColour and mutedColour are colours of text. ruleColour is the colour of lines between rows.
var (
	textColour  = [3]int{24, 26, 32}
	mutedColour = [3]int{92, 96, 108}
	ruleColour  = [3]int{214, 216, 222}
)

// sheet is a document that is being written.
type sheet struct {
	*fpdf.Fpdf
	width    float64 // width of the text
	replaced bool    // a character was replaced
}

// Write returns the receipt as a PDF document. The same receipt always gives the same bytes.
func Write(r Receipt) ([]byte, error) {
	s := &sheet{Fpdf: fpdf.New("P", "mm", "A4", "")}
	s.SetCatalogSort(true)
	s.SetCreationDate(r.At.UTC())
	s.SetModificationDate(r.At.UTC())
	s.SetProducer("Chequer", false)
	s.SetTitle(s.clean(r.Title), true)
	s.SetLang(r.Lang)
	s.SetMargins(sideMargin, topMargin, sideMargin)
	s.SetAutoPageBreak(true, bottomMargin)
	s.AddUTF8FontFromBytes(fontFamily, "", regularFont)
	s.AddUTF8FontFromBytes(fontFamily, "B", boldFont)
	page, _ := s.GetPageSize()
	s.width = page - 2*sideMargin
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

// head writes the banner, the shop and the paid amount.
func (s *sheet) head(r Receipt) {
	if r.Banner != "" {
		s.paragraph("B", 12, textColour, r.Banner)
		s.Ln(4)
	}
	s.paragraph("B", 14, textColour, r.Shop)
	s.paragraph("", 10, mutedColour, r.Label)
	s.Ln(10)
	s.paragraph("", 10, mutedColour, r.Due.Label)
	s.paragraph("B", 28, textColour, r.Due.Amount)
	s.paragraph("", 10, mutedColour, r.Due.Line)
	s.Ln(8)
}

// body writes the facts, the notes, the summary and the texts at the end.
func (s *sheet) body(r Receipt) {
	s.paragraph("B", 13, textColour, r.Heading)
	s.Ln(3)
	s.rows(r.Facts)
	for _, n := range r.Notes {
		s.Ln(5)
		s.paragraph("B", 10, textColour, n.Strong)
		s.paragraph("", 10, textColour, n.Text)
	}
	s.Ln(9)
	s.paragraph("B", 13, textColour, r.Summary.Heading)
	s.Ln(1)
	s.paragraph("", 10, textColour, r.Summary.Text)
	s.Ln(3)
	s.rows(r.Summary.Rows)
	s.Ln(9)
	for _, line := range r.ShopTexts {
		s.paragraph("", 9, textColour, line)
	}
	s.paragraph("", 9, mutedColour, r.Footing)
	if s.replaced {
		s.paragraph("", 9, mutedColour, r.Replaced)
	}
}

// paragraph writes a paragraph with line breaks. An empty text writes nothing.
func (s *sheet) paragraph(style string, size float64, colour [3]int, text string) {
	if text = s.clean(text); text == "" {
		return
	}
	s.SetFont(fontFamily, style, size)
	s.SetTextColor(colour[0], colour[1], colour[2])
	s.MultiCell(s.width, lineHeight(size), text, "", "L", false)
}

// lineHeight returns the line height in millimetres of a font size in points: about 1.5 times the size. A point is
// 0.35 mm.
func lineHeight(size float64) float64 { return size * 0.52 }

// rows writes facts, each below a thin line. A row has no page break, unless it is longer than a page.
func (s *sheet) rows(facts []Fact) {
	const size, smallSize = 10.0, 8.5
	const gap = 4.0 // between the columns of labels and values
	for _, f := range facts {
		label, value := s.clean(f.Label), s.clean(f.Value)
		s.SetFont(fontFamily, "", size)
		isSmall := s.GetStringWidth(value) > s.width-labelWidth && !strings.Contains(value, " ")
		lines := max(len(s.SplitText(label, labelWidth-gap)), len(s.SplitText(value, s.width-labelWidth)))
		_, page := s.GetPageSize()
		height := float64(lines)*lineHeight(size) + 5 // with the space above and below
		if s.GetY()+height > page-bottomMargin && height < page-topMargin-bottomMargin {
			s.AddPage()
		}
		y := s.GetY()
		s.SetDrawColor(ruleColour[0], ruleColour[1], ruleColour[2])
		s.SetLineWidth(0.2)
		s.Line(sideMargin, y, sideMargin+s.width, y)
		s.SetXY(sideMargin, y+2)
		s.SetTextColor(mutedColour[0], mutedColour[1], mutedColour[2])
		s.MultiCell(labelWidth-gap, lineHeight(size), label, "", "L", false)
		labelEnd, labelPage := s.GetY(), s.PageNo()
		s.SetXY(sideMargin+labelWidth, y+2)
		s.SetTextColor(textColour[0], textColour[1], textColour[2])
		if isSmall { // keeps a transaction's identifier on one line
			s.SetFontSize(smallSize)
		}
		s.MultiCell(s.width-labelWidth, lineHeight(size), value, "", "L", false)
		if s.PageNo() == labelPage {
			s.SetY(max(labelEnd, s.GetY()))
		}
		s.Ln(2)
	}
}
