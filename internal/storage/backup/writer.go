package backup

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"io"
)

// writer writes the lines of a backup.
type writer struct {
	out   *bufio.Writer
	sum   hash.Hash
	lines *json.Encoder // writes to out and sum
	rows  map[string]int64
}

func newWriter(w io.Writer) *writer {
	b := &writer{out: bufio.NewWriter(w), sum: sha256.New(), rows: map[string]int64{}}
	b.lines = json.NewEncoder(io.MultiWriter(b.out, b.sum))
	b.lines.SetEscapeHTML(false)
	return b
}

// table begins a table.
func (b *writer) table(t table) error {
	b.rows[t.name] = 0
	return b.lines.Encode(tableLine{Table: t.name, Columns: t.columns})
}

// row writes a row of a table.
func (b *writer) row(t table, values []any) error {
	b.rows[t.name]++
	return b.lines.Encode(values)
}

// end writes the last line.
func (b *writer) end() (ending, error) {
	end := ending{Rows: b.rows, SHA256: hex.EncodeToString(b.sum.Sum(nil))}
	if err := b.lines.Encode(end); err != nil {
		return end, err
	}
	return end, b.out.Flush()
}
