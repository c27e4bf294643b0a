package console

import (
	"encoding/csv"
	"fmt"
	"io"
	"text/tabwriter"
)

// Table writes rows in columns below a heading whose cells are separated by tabs. It writes no heading
// if that is empty. It removes characters that control a terminal or begin a new line from cells.
func Table[T any](w io.Writer, heading string, rows []T, cells func(T) []any) {
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

// Fields writes the names and the values of fields in two columns.
func Fields(w io.Writer, fields [][2]string) {
	Table(w, "", fields, func(f [2]string) []any { return []any{f[0], f[1]} })
}

// CSV writes rows below a heading as CSV (RFC 4180).
func CSV[T any](w io.Writer, heading []string, rows []T, cells func(T) []string) error {
	records := [][]string{heading}
	for _, row := range rows {
		records = append(records, cells(row))
	}
	return csv.NewWriter(w).WriteAll(records)
}
