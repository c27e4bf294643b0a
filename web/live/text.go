package live

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"strings"
	"sync"

	"github.com/klauspost/compress/flate"
)

// Text is a part of an event stream. All viewers share it; it is immutable.
type Text struct {
	plain   []byte
	deflate []byte // plain as DEFLATE blocks that do not refer to earlier text; nil if no viewer accepts it
}

var (
	emptyText = newText("", true)
	// beatText is a heartbeat. It is an event, not a comment of the stream, so that the script of the page notices
	// when heartbeats stop.
	beatText = newText("event: beat\ndata\n\n", true)
	// retryText tells the browser how many milliseconds to wait before it connects again.
	retryText = newText("retry: 3000\n\n", true)
)

// pageText returns the event with the live part of a page.
func pageText(version, page string, compressed bool) *Text {
	return newText("event: page\n"+field("id", version)+field("data", strings.TrimSpace(page))+"\n", compressed)
}

// field returns a field of an event, with a line for each line of its value. A carriage return ends a
// line of a stream as a line feed does. See HTML, "Parsing an event stream".
func field(name, value string) string {
	value = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(value)
	return name + ": " + strings.ReplaceAll(value, "\n", "\n"+name+": ") + "\n"
}

func newText(plain string, compressed bool) *Text {
	t := &Text{plain: []byte(plain)}
	if compressed && plain != "" {
		t.deflate = Deflate(t.plain)
	}
	return t
}

// CompressionLevel is the level at which pages are compressed. They are one percent larger than at the default
// level of the standard library, and compressing takes a tenth of the time.
const CompressionLevel = 6

// compressors holds compressors for reuse, because each takes most of a megabyte.
var compressors = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, CompressionLevel)
	if err != nil {
		panic("live: " + err.Error())
	}
	return w
}}

// Deflate returns a text as DEFLATE blocks. They do not refer to earlier blocks and end at a byte boundary, so
// that the blocks of several texts can be joined. See RFC 1951, section 3.2.3.
func Deflate(text []byte) []byte {
	w := compressors.Get().(*flate.Writer)
	defer compressors.Put(w)
	var b bytes.Buffer
	w.Reset(&b)
	_, _ = w.Write(text) // writing to a bytes.Buffer cannot fail
	_ = w.Flush()
	w.Reset(nil)
	return bytes.Clone(b.Bytes())
}

// Encoder encodes the texts of one stream. Its zero value is an encoder without compression.
type Encoder struct {
	gzip   bool
	begun  bool
	sum    uint32 // checksum of the plain text, for the trailer
	length uint32 // of the plain text in bytes, modulo 2^32, for the trailer
}

// NewEncoder returns an encoder that compresses with gzip if compress is true.
func NewEncoder(compress bool) *Encoder { return &Encoder{gzip: compress} }

// gzipHeader is the header of a compressed stream without a name and a time. See RFC 1952, section 2.3.
var gzipHeader = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}

// Encode returns the parts to write for a text. The parts are shared and must not be changed.
func (e *Encoder) Encode(t *Text) [][]byte {
	var parts [][]byte
	texts := []*Text{t}
	if !e.begun {
		texts = []*Text{retryText, t}
		if e.gzip {
			parts = append(parts, gzipHeader)
		}
	}
	e.begun = true
	for _, t := range texts {
		if len(t.plain) == 0 {
			continue
		}
		if !e.gzip {
			parts = append(parts, t.plain)
			continue
		}
		e.sum, e.length = crc32.Update(e.sum, crc32.IEEETable, t.plain), e.length+uint32(len(t.plain)) //nolint:gosec // the size is modulo 2^32
		blocks := t.deflate
		if blocks == nil { // the viewer joined after the text was made
			blocks = Deflate(t.plain)
		}
		parts = append(parts, blocks)
	}
	return parts
}

// End returns the part that ends a compressed stream: an empty last block, the checksum and the size. See RFC 1952,
// section 2.3.1. It returns nil for a stream that is not compressed or has not begun.
func (e *Encoder) End() []byte {
	if !e.gzip || !e.begun {
		return nil
	}
	emptyLastBlock := []byte{3, 0}
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(emptyLastBlock, e.sum), e.length)
}
