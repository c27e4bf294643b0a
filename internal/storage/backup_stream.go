package storage

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"
)

// A backup consists of lines of JSON, the same for both engines: a header; for each table a line
// with its name and columns, followed by a line per row; and an end with the number of rows of each
// table and the SHA-256 of all lines before it.

// backupFormat is the version of this format.
const backupFormat = 1

// Manifest describes a backup.
type Manifest struct {
	Engine    string           `json:"engine"` // of the source, sqlite or postgres; the backup fits both
	Schema    int64            `json:"schema"` // version
	CreatedAt time.Time        `json:"created_at"`
	Rows      map[string]int64 `json:"rows"` // by table
}

// Total returns the number of rows.
func (m Manifest) Total() (total int64) {
	for _, n := range m.Rows {
		total += n
	}
	return total
}

type (
	backupHeader struct {
		Format    int       `json:"chequer_backup"`
		Schema    int64     `json:"schema"`
		Engine    string    `json:"engine"`
		CreatedAt time.Time `json:"created_at"`
		MasterKey string    `json:"master_key"` // hexadecimal, as in the settings
	}
	backupTable struct {
		Table   string   `json:"table"`
		Columns []string `json:"columns"`
	}
	backupEnd struct {
		Rows   map[string]int64 `json:"rows"`
		SHA256 string           `json:"sha256"`
	}
)

// manifest returns the manifest of a header and an end.
func (h backupHeader) manifest(end backupEnd) Manifest {
	return Manifest{Engine: h.Engine, Schema: h.Schema, CreatedAt: h.CreatedAt, Rows: end.Rows}
}

// backupWriter writes the lines of a backup.
type backupWriter struct {
	out   *bufio.Writer
	sum   hash.Hash
	lines *json.Encoder // writes to out and sum
	rows  map[string]int64
}

func newBackupWriter(w io.Writer) *backupWriter {
	b := &backupWriter{out: bufio.NewWriter(w), sum: sha256.New(), rows: map[string]int64{}}
	b.lines = json.NewEncoder(io.MultiWriter(b.out, b.sum))
	b.lines.SetEscapeHTML(false)
	return b
}

// table begins a table.
func (b *backupWriter) table(t table) error {
	b.rows[t.name] = 0
	return b.lines.Encode(backupTable{Table: t.name, Columns: t.columns})
}

// row writes a row of a table.
func (b *backupWriter) row(t table, values []any) error {
	b.rows[t.name]++
	return b.lines.Encode(values)
}

// end writes the last line.
func (b *backupWriter) end() (backupEnd, error) {
	end := backupEnd{Rows: b.rows, SHA256: hex.EncodeToString(b.sum.Sum(nil))}
	if err := b.lines.Encode(end); err != nil {
		return end, err
	}
	return end, b.out.Flush()
}

// backupReader reads the lines of a backup.
type backupReader struct {
	in     *bufio.Reader
	sum    hash.Hash
	header backupHeader
}

// newBackupReader returns a reader that has read the header; ErrNewerBackup and ErrDamaged.
func newBackupReader(r io.Reader) (*backupReader, error) {
	b := &backupReader{in: bufio.NewReader(r), sum: sha256.New()}
	line, err := b.line()
	if err != nil {
		return nil, err
	}
	b.sum.Write(line)
	if err := json.Unmarshal(line, &b.header); err != nil || b.header.Format < 1 {
		return nil, fmt.Errorf("%w: it does not begin with a header", ErrDamaged)
	}
	latest, err := latestSchema()
	if err != nil {
		return nil, err
	}
	if b.header.Format > backupFormat || b.header.Schema > latest {
		return nil, ErrNewerBackup
	}
	return b, nil
}

// each calls begin for every table and visit for every row; the line is valid until the next call.
// The data is verified only if each returns without an error. It returns ErrDamaged, or an error of
// begin or visit.
func (b *backupReader) each(begin func(name string, columns []string) error, visit func(line []byte) error) (Manifest, error) {
	rows := map[string]int64{}
	var current string
	for {
		line, err := b.line()
		if err != nil {
			return Manifest{}, err
		}
		if line[0] == '[' {
			rows[current]++
			b.sum.Write(line)
			if err := visit(line); err != nil {
				return Manifest{}, err
			}
			continue
		}
		var mark struct {
			backupTable
			backupEnd
		}
		if err := json.Unmarshal(line, &mark); err != nil {
			return Manifest{}, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		if mark.SHA256 != "" {
			return b.header.manifest(mark.backupEnd), b.end(mark.backupEnd, rows)
		}
		current = mark.Table
		rows[current] = 0
		b.sum.Write(line)
		if err := begin(mark.Table, mark.Columns); err != nil {
			return Manifest{}, err
		}
	}
}

// end compares the data that was read with the last line.
func (b *backupReader) end(end backupEnd, rows map[string]int64) error {
	if end.SHA256 != hex.EncodeToString(b.sum.Sum(nil)) {
		return fmt.Errorf("%w: the SHA-256 of its content differs from the one at its end", ErrDamaged)
	}
	if len(rows) != len(end.Rows) {
		return fmt.Errorf("%w: it has %d tables, but %d according to its end", ErrDamaged, len(rows), len(end.Rows))
	}
	for table, n := range rows {
		if said, known := end.Rows[table]; !known || said != n {
			return fmt.Errorf("%w: table %s has %d rows, but %d according to its end", ErrDamaged, table, n, said)
		}
	}
	switch _, err := b.in.ReadByte(); {
	case err == nil:
		return fmt.Errorf("%w: it has data after its end", ErrDamaged)
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return nil
}

// line reads the next line; a missing line is an error.
func (b *backupReader) line() ([]byte, error) {
	line, err := b.in.ReadBytes('\n')
	switch {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%w: it ends too early", ErrDamaged)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return line, nil
}

// parseRow parses the values of a row: strings, integers, booleans and null.
func parseRow(line []byte) ([]any, error) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	var values []any
	if err := d.Decode(&values); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	for i, v := range values {
		number, ok := v.(json.Number)
		if !ok {
			continue
		}
		whole, err := number.Int64()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		values[i] = whole
	}
	return values, nil
}
