// Package rendered holds rendered and compressed pages of invoices, in which the remaining seconds of the quote can be
// replaced.
package rendered

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"strconv"

	"github.com/andybalholm/brotli"

	"chequer/views"
	"chequer/web/live"
)

// Page is a compressed page in which the remaining seconds of the quote can be replaced: they and the short text after
// them are not compressed. It is immutable.
type Page struct {
	after  []byte // text after the seconds; nil if the page does not have them
	gzip   []byte // header and blocks of the text before the seconds
	sum    uint32 // checksum of that text
	length uint32 // of that text, in bytes
	brotli []byte // stream of the text before the seconds, without its end; nil if the page was not compressed with Brotli
}

// gzipHeader is the header of a gzip file without a name and a time. See RFC 1952, section 2.3.
const gzipHeader = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"

// Qualities of Brotli. At Quick a page of eight methods has 11 percent fewer bytes than with gzip, and compressing it takes
// three times as long; at Small it has 20 percent fewer bytes, and compressing it takes 60 times as long.
const (
	Quick = 6
	Small = 10
)

// brotliWindow is the base-2 logarithm of the window size, which is larger than a page.
const brotliWindow = 16

// New compresses a page with gzip.
func New(page []byte) *Page {
	before, after := views.SplitSeconds(page)
	return &Page{
		after: bytes.Clone(after), gzip: append([]byte(gzipHeader), live.Deflate(before)...),
		sum: crc32.ChecksumIEEE(before), length: uint32(len(before)), //nolint:gosec // a page is smaller than 4 GiB
	}
}

// Compressor compresses pages with Brotli. It keeps its memory of up to a few megabytes for the next page. It is not safe
// for concurrent use.
type Compressor struct{ writer *brotli.Writer }

// NewCompressor returns a new Compressor of the given quality.
func NewCompressor(quality int) *Compressor {
	return &Compressor{brotli.NewWriterOptions(nil, brotli.WriterOptions{Quality: quality, LGWin: brotliWindow})}
}

// Add returns a page with a second form for clients that accept Brotli. The argument text is the text of the page.
func (c *Compressor) Add(p *Page, text []byte) *Page {
	before, _ := views.SplitSeconds(text)
	var b bytes.Buffer
	c.writer.Reset(&b)
	_, _ = c.writer.Write(before) // writing to a bytes.Buffer cannot fail
	_ = c.writer.Flush()          // ends at a byte boundary
	both := *p
	both.brotli = bytes.Clone(b.Bytes())
	return &both
}

// size returns the approximate size of a page in memory, in bytes.
func (p *Page) size() int { return len(p.gzip) + len(p.brotli) + len(p.after) + 200 }

// end returns the text that is not compressed.
func (p *Page) end(secondsLeft int64) []byte {
	if p.after == nil {
		return nil
	}
	return append(strconv.AppendInt(nil, secondsLeft, 10), p.after...)
}

// Gzip returns the page as a gzip file. The end of the page is a stored block, see RFC 1951, section 3.2.4.
func (p *Page) Gzip(secondsLeft int64) []byte {
	end := p.end(secondsLeft)
	size := uint16(len(end)) //nolint:gosec // the end of a page is shorter than 64 KiB
	b := make([]byte, 0, len(p.gzip)+len(end)+16)
	b = append(append(b, p.gzip...), 1) // last block, stored
	b = binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(b, size), ^size)
	b = append(b, end...)
	b = binary.LittleEndian.AppendUint32(b, crc32.Update(p.sum, crc32.IEEETable, end))
	return binary.LittleEndian.AppendUint32(b, p.length+uint32(size))
}

// Brotli returns the page as a Brotli stream, or nil if it was not compressed with Brotli. The end of the page is an
// uncompressed meta-block, see RFC 7932, section 9.2.
func (p *Page) Brotli(secondsLeft int64) []byte {
	if p.brotli == nil {
		return nil
	}
	end := p.end(secondsLeft)
	b := make([]byte, 0, len(p.brotli)+len(end)+8)
	b = append(b, p.brotli...)
	if len(end) > 0 {
		header := uint32(len(end)-1)<<3 | 1<<19 //nolint:gosec // not the last block, length in four nibbles, uncompressed
		b = append(b, byte(header), byte(header>>8), byte(header>>16))
		b = append(b, end...)
	}
	return append(b, 3) // last and empty meta-block
}
