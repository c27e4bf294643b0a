package backup

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
)

// writer writes the lines of a backup.
type writer struct {
	out   *bufio.Writer
	sum   hash.Hash
	lines *json.Encoder // writes to out and sum
	rows  map[string]int64
	line  []byte // the buffer of writeRow
}

// bufferSize is the number of bytes that are compressed, or read, at once.
const bufferSize = 64 << 10

func newWriter(w io.Writer) *writer {
	b := &writer{out: bufio.NewWriterSize(w, bufferSize), sum: sha256.New(), rows: map[string]int64{}}
	b.lines = json.NewEncoder(io.MultiWriter(b.out, b.sum))
	b.lines.SetEscapeHTML(false)
	return b
}

// beginTable writes the header of a table.
func (w *writer) beginTable(t table) error {
	w.rows[t.name] = 0
	return w.lines.Encode(tableHeader{Table: t.name, Columns: t.columns})
}

// writeRow writes a row of a table.
func (w *writer) writeRow(t table, cells []cell) error {
	w.rows[t.name]++
	line := append(w.line[:0], '[')
	for i, c := range cells {
		if i > 0 {
			line = append(line, ',')
		}
		var err error
		if line, err = c.appendJSON(line); err != nil {
			return fmt.Errorf("column %s: %w", t.columns[i], err)
		}
	}
	w.line = append(line, ']', '\n')
	w.sum.Write(w.line) // never fails
	_, err := w.out.Write(w.line)
	return err
}

// writeTrailer writes the last line.
func (w *writer) writeTrailer() (trailer, error) {
	end := trailer{Rows: w.rows, SHA256: hex.EncodeToString(w.sum.Sum(nil))}
	if err := w.lines.Encode(end); err != nil {
		return end, err
	}
	return end, w.out.Flush()
}
