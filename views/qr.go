package views

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/skip2/go-qrcode"
)

// quiet is the free margin around a code, in modules; readers need four.
const quiet = 4

// QR is a code as one stroked SVG path: each row a line of dashes. Drawn black
// on white in both colour schemes, since many readers fail on inverted codes.
type QR struct {
	ViewBox string
	Path    string
	Version int
}

// NewQR makes the code of a text at error correction level M. Codes are kept,
// since every update of a page shows them again. Safe for concurrent use. The
// error is that the text is too long for any code.
func NewQR(text string) (QR, error) {
	if code, ok := codes.find(text); ok {
		return code, nil
	}
	made, err := qrcode.New(text, qrcode.Medium)
	if err != nil {
		return QR{}, fmt.Errorf("make QR code of %d bytes: %w", len(text), err)
	}
	made.DisableBorder = true
	code := QR{Path: strokes(made.Bitmap()), Version: made.VersionNumber}
	size := strconv.Itoa(17 + 4*made.VersionNumber + 2*quiet)
	// A stroke lies half above its line, so the first row is at half a module.
	code.ViewBox = fmt.Sprintf("%d %d.5 %s %s", -quiet, -quiet, size, size)
	codes.keep(text, code)
	return code, nil
}

// strokes draws every run of dark modules as "h" and steps over light ones, and
// on to the next row, with a relative move: a third of the size of rectangles, and
// rows that are alike read alike, which compresses well. The first move starts from
// 0,0. See SVG 2, "The 'moveto' commands".
func strokes(bitmap [][]bool) string {
	var b strings.Builder
	endX, endY := 0, 0 // where the last run ended
	for y, row := range bitmap {
		for x := 0; x < len(row); x++ {
			if !row[x] {
				continue
			}
			start := x
			for x < len(row) && row[x] {
				x++
			}
			fmt.Fprintf(&b, "m%d %dh%d", start-endX, y-endY, x-start)
			endX, endY = x, y
		}
	}
	return b.String()
}

// generation is how many codes are kept before the older half is forgotten.
const generation = 1000

var codes shelf

// shelf keeps what was used lately in two generations, so it never grows above
// twice that size.
type shelf struct {
	mu         sync.Mutex
	young, old map[string]QR
}

func (s *shelf) find(text string) (QR, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if code, ok := s.young[text]; ok {
		return code, true
	}
	code, ok := s.old[text]
	if ok {
		s.add(text, code)
	}
	return code, ok
}

func (s *shelf) keep(text string, code QR) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(text, code)
}

func (s *shelf) add(text string, code QR) {
	if s.young == nil || len(s.young) >= generation {
		s.young, s.old = map[string]QR{}, s.young
	}
	s.young[text] = code
}
