package console

import (
	"encoding/csv"
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteTable writes rows in columns below a heading whose cells are separated by tabs. It writes no heading
// if heading is empty. It removes characters that control a terminal or begin a new line from cells.
func WriteTable[T any](w io.Writer, heading string, rows []T, cells func(T) []any) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if heading != "" {
		fmt.Fprintln(t, heading)
	}
	for _, row := range rows {
		for i, cell := range cells(row) {
			if i > 0 {
				fmt.Fprint(t, "\t")
			}
			fmt.Fprint(t, Printable(fmt.Sprint(cell)))
		}
		fmt.Fprintln(t)
	}
	t.Flush()
}

// WriteFields writes the names and the values of fields in two columns.
func WriteFields(w io.Writer, fields [][2]string) {
	WriteTable(w, "", fields, func(f [2]string) []any { return []any{f[0], f[1]} })
}

// WriteCSV writes rows below a heading as CSV (RFC 4180).
func WriteCSV[T any](w io.Writer, heading []string, rows []T, cells func(T) []string) error {
	records := [][]string{heading}
	for _, row := range rows {
		records = append(records, cells(row))
	}
	return csv.NewWriter(w).WriteAll(records)
}
