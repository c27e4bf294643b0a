package views

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/skip2/go-qrcode"
)

// quietZone is the width of the margin around a code, in modules. Scanners need four.
const quietZone = 4

// QR is a QR code as one stroked SVG path, in which each row is a line of dashes. Pages show it black on white in both
// colour schemes, because many scanners cannot read inverted codes.
type QR struct {
	ViewBox string
	Path    string
	Version int
}

// NewQR returns the QR code of a text at error correction level M. Codes are cached, since every
// update of a page shows them again. It is safe for concurrent use. It returns an error if the text
// is too long for any code.
func NewQR(text string) (QR, error) {
	if code, ok := codes.Get(text); ok {
		return code, nil
	}
	drawn.Add(1)
	encoded, err := qrcode.New(text, qrcode.Medium)
	if err != nil {
		return QR{}, fmt.Errorf("make QR code of %d bytes: %w", len(text), err)
	}
	encoded.DisableBorder = true
	code := QR{Path: strokes(encoded.Bitmap()), Version: encoded.VersionNumber}
	size := strconv.Itoa(17 + 4*encoded.VersionNumber + 2*quietZone)
	// A stroke covers half a module on each side of its line, so the first row is at half a module.
	code.ViewBox = fmt.Sprintf("%d %d.5 %s %s", -quietZone, -quietZone, size, size)
	codes.Add(text, code)
	return code, nil
}

// DrawQRs draws the codes of the texts that are not cached, each once, on all processors, because a new page needs
// several codes. It ignores texts that are too long for a code.
func DrawQRs(texts []string) {
	missing := slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(texts))), func(text string) bool {
		return codes.Contains(text) || text == ""
	})
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(len(missing), runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(missing)); i = next.Add(1) - 1 {
				_, _ = NewQR(missing[i])
			}
		})
	}
	group.Wait()
}

// drawn is the number of codes that were not found in the cache.
var drawn atomic.Int64

// DrawnCodes returns the number of codes that were drawn since the start of the program. Drawing is
// the most expensive part of a page.
func DrawnCodes() int64 { return drawn.Load() }

// strokes draws every run of dark modules with "h", and moves over light modules and to the next row with a
// relative move. The path has a third of the size of a path with rectangles. Equal rows are equal text,
// which compresses well. The first move starts from 0,0. See SVG 2, "The 'moveto' commands".
func strokes(bitmap [][]bool) string {
	b := make([]byte, 0, 2*len(bitmap)*len(bitmap))
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
			b = strconv.AppendInt(append(b, 'm'), int64(start-endX), 10)
			b = strconv.AppendInt(append(b, ' '), int64(y-endY), 10)
			b = strconv.AppendInt(append(b, 'h'), int64(x-start), 10)
			endX, endY = x, y
		}
	}
	return string(b)
}

// codes are the most recently used codes.
var codes = newCodes(2000)

func newCodes(size int) *lru.Cache[string, QR] {
	cache, err := lru.New[string, QR](size)
	if err != nil {
		panic(err) // the size is not positive
	}
	return cache
}
