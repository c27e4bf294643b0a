package backup

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
)

// rowsAtOnce is the number of rows that a statement writes. With one statement for each row, each row would
// need a round trip to PostgreSQL.
const rowsAtOnce = 100

// loader writes tables row by row, in the order of the backup: each table follows the tables that it refers
// to.
type loader struct {
	tx      *sql.Tx
	tables  []table // not written yet
	current table
	insert  *sql.Stmt // inserts rowsAtOnce rows into the current table
	values  []any     // values of rows not written yet
}

// beginTable completes the current table and begins the next table.
func (l *loader) beginTable(ctx context.Context, name string, columns []string) error {
	if err := l.flush(ctx); err != nil {
		return err
	}
	i := slices.IndexFunc(l.tables, func(t table) bool { return t.name == name && slices.Equal(t.columns, columns) })
	if i < 0 {
		return fmt.Errorf("%w: table %q is not in its schema version", ErrDamaged, name)
	}
	l.current = l.tables[i]
	l.tables = slices.Delete(l.tables, i, i+1)
	var err error
	l.insert, err = l.tx.PrepareContext(ctx, l.current.insert(rowsAtOnce))
	return err
}

// addRow adds a row. When there are rowsAtOnce pending rows, it writes them.
func (l *loader) addRow(ctx context.Context, line []byte) error {
	values, err := parseRow(line)
	if err != nil {
		return err
	}
	if l.insert == nil || len(values) != len(l.current.columns) {
		return fmt.Errorf("%w: a row of table %q has %d values", ErrDamaged, l.current.name, len(values))
	}
	l.values = append(l.values, values...)
	if len(l.values) < rowsAtOnce*len(l.current.columns) {
		return nil
	}
	if _, err := l.insert.ExecContext(ctx, l.values...); err != nil {
		return fmt.Errorf("table %s: %w", l.current.name, err)
	}
	l.values = l.values[:0]
	return nil
}

// end completes the last table.
func (l *loader) end(ctx context.Context) error {
	if len(l.tables) > 0 {
		return fmt.Errorf("%w: table %s is missing", ErrDamaged, l.tables[0].name)
	}
	return l.flush(ctx)
}

// flush writes the pending rows and closes the statement of their table.
func (l *loader) flush(ctx context.Context) error {
	if l.insert == nil {
		return nil
	}
	if len(l.values) > 0 {
		if _, err := l.tx.ExecContext(ctx, l.current.insert(len(l.values)/len(l.current.columns)), l.values...); err != nil {
			return fmt.Errorf("table %s: %w", l.current.name, err)
		}
		l.values = l.values[:0]
	}
	return l.insert.Close()
}
