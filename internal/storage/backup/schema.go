package backup

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"chequer/internal/storage/engine"
)

// table is a table of the schema with its columns.
type table struct {
	name    string
	columns []string
	types   []string // types of the columns, as in the migrations
}

// schema returns the tables of a schema version, each after the tables that it refers to. It reads them
// from a database in memory that the migrations made. Therefore there is no second list to maintain, the
// result is the same for both engines, and other tables in a shared database are not included.
func schema(ctx context.Context, version int64) ([]table, error) {
	db, err := engine.MemorySchema(ctx, version)
	if err != nil {
		return nil, fmt.Errorf("make schema version %d: %w", version, err)
	}
	defer db.Close()
	tables, err := readTables(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("read schema version %d: %w", version, err)
	}
	references := map[string][]string{}
	err = engine.Each(ctx, db, func(row engine.Row) error {
		var from, to string
		err := row.Scan(&from, &to)
		references[from] = append(references[from], to)
		return err
	}, `SELECT t.name, f."table" FROM sqlite_schema AS t, pragma_foreign_key_list(t.name) AS f WHERE t.type = 'table' AND f."table" <> t.name`)
	if err != nil {
		return nil, fmt.Errorf("read schema version %d: %w", version, err)
	}
	return sortByReference(tables, references)
}

// readTables returns the tables of a SQLite database, in the order of their creation.
func readTables(ctx context.Context, q engine.Querier) (tables []table, err error) {
	err = engine.Each(ctx, q, func(row engine.Row) error {
		var name, column, kind string
		if err := row.Scan(&name, &column, &kind); err != nil {
			return err
		}
		if len(tables) == 0 || tables[len(tables)-1].name != name {
			tables = append(tables, table{name: name})
		}
		last := &tables[len(tables)-1]
		last.columns, last.types = append(last.columns, column), append(last.types, kind)
		return nil
	}, `
		SELECT t.name, c.name, c.type FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
		WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite@_%' ESCAPE '@' AND t.name <> $1
		ORDER BY t.rowid, c.cid`, engine.VersionTable)
	return tables, err
}

// sortByReference sorts the tables so that each follows the tables that it refers to.
func sortByReference(tables []table, references map[string][]string) ([]table, error) {
	var sorted []table
	placed := map[string]bool{}
	for len(tables) > 0 {
		i := slices.IndexFunc(tables, func(t table) bool {
			return !slices.ContainsFunc(references[t.name], func(to string) bool { return !placed[to] })
		})
		if i < 0 {
			return nil, fmt.Errorf("table %s is part of a cycle of references", tables[0].name)
		}
		placed[tables[i].name] = true
		sorted = append(sorted, tables[i])
		tables = slices.Delete(tables, i, i+1)
	}
	return sorted, nil
}

// Only the statements below are built from names. The names are from the migrations, never from a backup.

// selectAll returns the statement that reads a table.
func (t table) selectAll() string {
	return "SELECT " + t.columnList() + " FROM " + quoted(t.name)
}

// lockAll returns the PostgreSQL statement that prevents changes of the schema of the tables.
func lockAll(tables []table) string {
	names := make([]string, len(tables))
	for i, t := range tables {
		names[i] = quoted(t.name)
	}
	return "LOCK TABLE " + strings.Join(names, ", ") + " IN ACCESS SHARE MODE"
}

// selectAny returns the statement that reports whether a table has a row.
func (t table) selectAny() string {
	return "SELECT EXISTS (SELECT 1 FROM " + quoted(t.name) + ")"
}

// insert returns the statement that writes a number of rows into a table.
func (t table) insert(rows int) string {
	var b strings.Builder
	b.WriteString("INSERT INTO " + quoted(t.name) + " (" + t.columnList() + ") VALUES ")
	for i := range rows * len(t.columns) {
		switch {
		case i == 0:
			b.WriteString("(")
		case i%len(t.columns) == 0:
			b.WriteString("), (")
		default:
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "$%d", i+1)
	}
	b.WriteString(")")
	return b.String()
}

func (t table) columnList() string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = quoted(c)
	}
	return strings.Join(names, ", ")
}

func quoted(name string) string { return `"` + name + `"` }
