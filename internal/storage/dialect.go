package storage

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"
)

// dialect is all in which the SQL of the two engines differs.
type dialect struct {
	driver string
	goose  goose.Dialect
	// forUpdate at the end of a SELECT locks its rows; forShare locks them
	// against change only. SQLite needs neither: who writes there has the whole
	// database to himself.
	forUpdate string
	forShare  string
	// skipLocked locks those rows that nobody else has locked, and leaves the others
	// out.
	skipLocked string
	// countTable is a statement: the number of tables called $1, one or none.
	countTable string
	// clock is an expression: the time now, in Unix milliseconds.
	clock string
}

var (
	sqliteDialect = dialect{
		driver: "sqlite", goose: goose.DialectSQLite3,
		countTable: "SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table' AND name = $1",
		clock:      "CAST(unixepoch('now', 'subsec') * 1000 AS INTEGER)",
	}
	postgresDialect = dialect{
		driver: "pgx", goose: goose.DialectPostgres,
		forUpdate: " FOR UPDATE", forShare: " FOR SHARE", skipLocked: " FOR UPDATE SKIP LOCKED",
		countTable: "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = current_schema() AND table_name = $1",
		clock:      "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)",
	}
)

// parseURL tells which engine a database's URL is for. Of SQLite's, place is the
// path of the file.
func parseURL(url string) (d dialect, place string, err error) {
	scheme, rest, _ := strings.Cut(url, ":")
	switch {
	case scheme == "postgres" || scheme == "postgresql":
		if _, err := pgconn.ParseConfig(url); err != nil { // the error may quote a part of the password
			return dialect{}, "", errors.New("database URL: its host, port or parameters cannot be parsed")
		}
		return postgresDialect, url, nil
	case scheme == "sqlite":
		place = rest
	case !strings.Contains(url, "://"):
		place = url
	}
	if place == "" {
		return dialect{}, "", errors.New("database URL: want sqlite:PATH or postgres://…")
	}
	return sqliteDialect, place, nil
}
