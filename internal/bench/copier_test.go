package bench_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"chequer/internal/storage/storagetest"
)

// original is a query for rows of a table that are copied.
type original struct {
	table, query string
	// changed are the expressions of the columns that differ in the copy n.i of a row o.
	changed map[string]string
	where   string // condition for a copy; "" means none
}

// Expressions of a copy's keys.
const (
	copiedID        = "substr(o.id, 1, 24) || CAST(10000000 + n.i AS TEXT)"
	copiedInvoiceID = "substr(o.invoice_id, 1, 24) || CAST(10000000 + n.i AS TEXT)"
)

// Statements that count the copies as the program counts invoices and events.
const (
	advanceCounters = "UPDATE counters SET next = next + CAST($2 AS BIGINT) - CAST($1 AS BIGINT) + 1"
	advanceFeeds    = "UPDATE feeds SET position = position + CAST($2 AS BIGINT) - CAST($1 AS BIGINT) + 1"
)

// copier writes numbered copies of rows without the program, by prepared statements on one
// connection with the program's durability.
type copier struct {
	conn           *sql.Conn
	beginStatement string
	statements     []*sql.Stmt // their parameters are the first and the last number
}

// newCopier returns a new copier of rows of a database. Each transaction also executes the given
// statements.
func newCopier(b *testing.B, database string, originals []original, extra ...string) *copier {
	b.Helper()
	conn, err := storagetest.Database(b, database).Conn(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	c := &copier{conn: conn, beginStatement: "BEGIN"}
	if strings.HasPrefix(database, "sqlite:") {
		c.beginStatement = "BEGIN IMMEDIATE"
		for _, option := range []string{"journal_mode = WAL", "synchronous = FULL", "foreign_keys = 1"} {
			c.execute(b, "PRAGMA "+option)
		}
	}
	var statements []string
	for _, o := range originals {
		c.execute(b, "CREATE TEMPORARY TABLE original_"+o.table+" AS "+o.query)
		statements = append(statements, o.insert(c.columns(b, o.table)))
	}
	for _, text := range append(statements, extra...) {
		statement, err := conn.PrepareContext(b.Context(), text)
		if err != nil {
			b.Fatalf("%s: %v", text, err)
		}
		c.statements = append(c.statements, statement)
	}
	return c
}

// execute executes a statement on the copier's connection.
func (c *copier) execute(b *testing.B, statement string) {
	b.Helper()
	if _, err := c.conn.ExecContext(b.Context(), statement); err != nil {
		b.Fatalf("%s: %v", statement, err)
	}
}

// columns returns the names of the columns of a table of originals, which must have rows.
func (c *copier) columns(b *testing.B, table string) []string {
	b.Helper()
	rows, err := c.conn.QueryContext(b.Context(), "SELECT * FROM original_"+table)
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		b.Fatal(err)
	}
	if !rows.Next() {
		b.Fatalf("no %s to copy: %v", table, rows.Err())
	}
	return columns
}

// insert returns the statement that writes the copies.
func (o original) insert(columns []string) string {
	var values []string
	for _, c := range columns {
		value, changed := o.changed[c]
		if !changed {
			value = "o." + c
		}
		values = append(values, value)
	}
	statement := fmt.Sprintf(`
		WITH RECURSIVE n (i) AS (SELECT CAST($1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < CAST($2 AS BIGINT))
		INSERT INTO %s (%s) SELECT %s FROM n, original_%s o`, o.table, strings.Join(columns, ", "), strings.Join(values, ", "), o.table)
	if o.where != "" {
		statement += " WHERE " + o.where
	}
	return statement
}

// write writes the copies from first to last in one transaction, with one statement per table.
func (c *copier) write(b *testing.B, first, last int) {
	b.Helper()
	c.execute(b, c.beginStatement)
	for _, s := range c.statements {
		if _, err := s.ExecContext(b.Context(), first, last); err != nil {
			b.Fatalf("copies from %d: %v", first, err)
		}
	}
	c.execute(b, "COMMIT")
}
