package backup

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// cell is a value that rows are scanned into, one after the other.
type cell interface {
	// appendJSON appends the value to a line.
	appendJSON(line []byte) ([]byte, error)
}

// newCell returns a cell for a column of the given type, and the value to scan into.
func newCell(kind string) (c cell, into any, err error) {
	switch kind {
	case "TEXT":
		c := &textCell{}
		return c, c, nil
	case "BIGINT":
		c := &integerCell{}
		return c, &c.number, nil
	case "BOOLEAN":
		c := &booleanCell{}
		return c, &c.value, nil
	}
	return nil, nil, fmt.Errorf("backup does not support the type %s", kind)
}

// textCell is a text or NULL. It keeps the string of the driver, which need not be copied.
type textCell struct {
	text  string
	valid bool
}

// Scan implements sql.Scanner.
func (c *textCell) Scan(value any) error {
	switch v := value.(type) {
	case string:
		c.text, c.valid = v, true
	case []byte:
		c.text, c.valid = string(v), true
	case nil:
		c.text, c.valid = "", false
	default:
		return fmt.Errorf("holds a %T, not a text", value)
	}
	return nil
}

func (c *textCell) appendJSON(line []byte) ([]byte, error) {
	if !c.valid {
		return append(line, "null"...), nil
	}
	begin := len(line)
	line = append(line, '"')
	for i := range len(c.text) {
		b := c.text[i]
		if b < ' ' || b > '~' {
			return c.appendQuoted(line[:begin])
		}
		if b == '"' || b == '\\' {
			line = append(line, '\\')
		}
		line = append(line, b)
	}
	return append(line, '"'), nil
}

// appendQuoted is appendJSON for a text with other characters than those of printable ASCII.
func (c *textCell) appendQuoted(line []byte) ([]byte, error) {
	if !utf8.ValidString(c.text) { // which JSON would change
		return nil, errors.New("holds text that is not UTF-8")
	}
	quoted, err := json.Marshal(c.text)
	return append(line, quoted...), err
}

type integerCell struct{ number sql.Null[int64] }

func (c *integerCell) appendJSON(line []byte) ([]byte, error) {
	if !c.number.Valid {
		return append(line, "null"...), nil
	}
	return strconv.AppendInt(line, c.number.V, 10), nil
}

type booleanCell struct{ value sql.Null[bool] }

func (c *booleanCell) appendJSON(line []byte) ([]byte, error) {
	if !c.value.Valid {
		return append(line, "null"...), nil
	}
	return strconv.AppendBool(line, c.value.V), nil
}
