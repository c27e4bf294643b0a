package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"
)

// table holds the rows of one invoice in a table, to be written again with other keys.
type table struct {
	name string
	rows [][]any
	// unique are the indexes of the columns that must be unique.
	unique []int
	insert string
}

// writeRaw writes the rows of one of the program's invoices repeatedly without the program, with
// group invoices per commit. It uses prepared statements on one connection with the program's
// durability: on SQLite in a copy of the program's database, on PostgreSQL in the same database. It
// returns the invoices per second.
func (p *program) writeRaw(ctx context.Context, group int, span time.Duration) (float64, error) {
	db, begin, err := p.openRaw(ctx)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	tables, err := readRows(ctx, db)
	if err != nil {
		return 0, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	statements := map[string]*sql.Stmt{}
	for _, t := range tables {
		if statements[t.name], err = conn.PrepareContext(ctx, t.insert); err != nil {
			return 0, fmt.Errorf("%s: %w", t.insert, err)
		}
	}
	count := rawCount
	start := time.Now()
	for time.Since(start) < span {
		if _, err := conn.ExecContext(ctx, begin); err != nil {
			return 0, err
		}
		for range group {
			count++
			if err := writeInvoice(ctx, conn, statements, tables, count); err != nil {
				return 0, err
			}
		}
		if _, err := conn.ExecContext(ctx, "COMMIT"); err != nil {
			return 0, err
		}
	}
	written := count - rawCount
	rawCount = count
	return float64(written) / time.Since(start).Seconds(), nil
}

// rawCount continues between runs, so that no two rows have the same key.
var rawCount int

// writeInvoice writes the rows of one invoice, and advances the counters as the creation of an
// invoice does.
func writeInvoice(ctx context.Context, conn *sql.Conn, statements map[string]*sql.Stmt, tables []table, number int) error {
	for _, t := range tables {
		for _, row := range t.rows {
			for _, column := range t.unique {
				switch old := row[column].(type) {
				case string:
					row[column] = fmt.Sprintf("%.24s%08d", old, number)
				case int64:
					row[column] = old + 1
				}
			}
			if _, err := statements[t.name].ExecContext(ctx, row...); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
		}
	}
	if _, err := conn.ExecContext(ctx, "UPDATE counters SET next = next + 1"); err != nil {
		return err
	}
	_, err := conn.ExecContext(ctx, "UPDATE feeds SET position = position + 1")
	return err
}

// openRaw opens the database to write to with the program's options, and returns the statement that
// begins a transaction.
func (p *program) openRaw(ctx context.Context) (db *sql.DB, begin string, err error) {
	if p.postgres != "" {
		db, err = sql.Open("pgx", p.postgres)
		return db, "BEGIN", err
	}
	source, err := sql.Open("sqlite", "file:"+p.database()+"?_pragma=busy_timeout(10000)")
	if err != nil {
		return nil, "", err
	}
	defer source.Close()
	path := p.folder + "/raw.db"
	_ = os.Remove(path) // from the previous run
	if _, err := source.ExecContext(ctx, "VACUUM INTO $1", path); err != nil {
		return nil, "", err
	}
	db, err = sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)")
	return db, "BEGIN IMMEDIATE", err
}

// readRows reads the rows of the newest invoice.
func readRows(ctx context.Context, db *sql.DB) ([]table, error) {
	var id string
	if err := db.QueryRowContext(ctx, "SELECT invoice_id FROM events ORDER BY position DESC LIMIT 1").Scan(&id); err != nil {
		return nil, err
	}
	var tables []table
	for _, t := range []struct {
		name, query string
		unique      []string
	}{
		{"invoices", "SELECT * FROM invoices WHERE id = $1", []string{"id"}},
		{"events", "SELECT * FROM events WHERE invoice_id = $1", []string{"id", "position", "invoice_id"}},
		{"destinations", "SELECT * FROM destinations WHERE invoice_id = $1", []string{"script", "position", "invoice_id"}},
	} {
		read, err := readTable(ctx, db, t.name, t.query, id, t.unique)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", t.name, err)
		}
		tables = append(tables, read)
	}
	return tables, nil
}

func readTable(ctx context.Context, db *sql.DB, name, query, id string, unique []string) (table, error) {
	t := table{name: name}
	rows, err := db.QueryContext(ctx, query, id)
	if err != nil {
		return t, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return t, err
	}
	marks := make([]string, len(columns))
	for i, c := range columns {
		marks[i] = fmt.Sprintf("$%d", i+1)
		for _, u := range unique {
			if c == u {
				t.unique = append(t.unique, i)
			}
		}
	}
	t.insert = "INSERT INTO " + name + " VALUES (" + strings.Join(marks, ", ") + ")"
	for rows.Next() {
		row := make([]any, len(columns))
		places := make([]any, len(columns))
		for i := range row {
			places[i] = &row[i]
		}
		if err := rows.Scan(places...); err != nil {
			return t, err
		}
		t.rows = append(t.rows, row)
	}
	return t, rows.Err()
}
