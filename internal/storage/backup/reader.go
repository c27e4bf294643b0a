package backup

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
	"slices"

	"chequer/internal/storage/engine"
)

// reader reads the lines of a backup.
type reader struct {
	in     *bufio.Reader
	sum    hash.Hash
	header header
}

// newReader returns a reader that has read the header. The error may be ErrNewer or ErrDamaged.
func newReader(r io.Reader) (*reader, error) {
	b := &reader{in: bufio.NewReaderSize(r, bufferSize), sum: sha256.New()}
	line, err := b.line()
	if err != nil {
		return nil, err
	}
	b.sum.Write(line)
	if err := json.Unmarshal(line, &b.header); err != nil || b.header.Format < 1 {
		return nil, fmt.Errorf("%w: it does not begin with a header", ErrDamaged)
	}
	latest, err := engine.LatestSchema()
	if err != nil {
		return nil, err
	}
	if b.header.Format > formatVersion || b.header.Schema > latest {
		return nil, ErrNewer
	}
	return b, nil
}

// visitTables calls begin for every table and visit for every row. The line is valid until the next call. The
// content is compared with its hash at the end of the backup, so the caller must discard everything that it has
// read if visitTables returns an error. The errors are ErrDamaged and the errors of begin and visit.
func (r *reader) visitTables(begin func(name string, columns []string) error, visit func(line []byte) error) (Manifest, error) {
	rows := map[string]int64{}
	var current string
	for {
		line, err := r.line()
		if err != nil {
			return Manifest{}, err
		}
		if line[0] == '[' { // a row
			rows[current]++
			r.sum.Write(line)
			if err := visit(line); err != nil {
				return Manifest{}, err
			}
			continue
		}
		var object struct { // either the header of a table or the trailer
			tableHeader
			trailer
		}
		if err := json.Unmarshal(line, &object); err != nil {
			return Manifest{}, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		if object.SHA256 != "" {
			return r.header.manifest(object.trailer), r.checkTrailer(object.trailer, rows)
		}
		current = object.Table
		rows[current] = 0
		r.sum.Write(line)
		if err := begin(object.Table, object.Columns); err != nil {
			return Manifest{}, err
		}
	}
}

// checkTrailer compares the data that was read with the last line, and returns ErrDamaged if they differ or
// if data follows.
func (r *reader) checkTrailer(end trailer, rows map[string]int64) error {
	if end.SHA256 != hex.EncodeToString(r.sum.Sum(nil)) {
		return fmt.Errorf("%w: the SHA-256 of its content differs from the one at its end", ErrDamaged)
	}
	if len(rows) != len(end.Rows) {
		return fmt.Errorf("%w: it has %d tables, but %d according to its end", ErrDamaged, len(rows), len(end.Rows))
	}
	for table, n := range rows {
		if declared, known := end.Rows[table]; !known || declared != n {
			return fmt.Errorf("%w: table %s has %d rows, but %d according to its end", ErrDamaged, table, n, declared)
		}
	}
	switch _, err := r.in.ReadByte(); {
	case err == nil:
		return fmt.Errorf("%w: it has data after its end", ErrDamaged)
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return nil
}

// line reads the next line, which is valid until the next call; a missing line is an error.
func (r *reader) line() ([]byte, error) {
	line, err := r.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		begin := slices.Clone(line)
		line, err = r.in.ReadBytes('\n')
		line = append(begin, line...)
	}
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
		integer, err := number.Int64()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		values[i] = integer
	}
	return values, nil
}
