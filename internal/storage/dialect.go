package storage

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"
)

// dialect holds the differences between the SQL of the two engines.
type dialect struct {
	driver string
	goose  goose.Dialect
	// forUpdate at the end of a SELECT locks its rows; forShare locks them only against changes.
	// SQLite needs neither: a transaction that writes locks the whole database.
	forUpdate string
	forShare  string
	// skipLocked locks the rows that no other transaction has locked, and leaves the others out.
	skipLocked string
	// countTable is a statement that returns the number of tables named $1, zero or one.
	countTable string
	// clock is an expression for the current time, in Unix milliseconds.
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

// parseURL returns the dialect for a database's URL. For SQLite, place is the path of the file; for
// PostgreSQL, it is the URL.
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
