package engine

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"
)

// Dialect holds the differences between the SQL of the two engines.
type Dialect struct {
	Name   string // sqlite or postgres
	driver string
	goose  goose.Dialect
	// ForUpdate at the end of a SELECT locks its rows; ForShare locks them only against changes.
	// SQLite needs neither: a transaction that writes locks the whole database.
	ForUpdate string
	ForShare  string
	// SkipLocked locks the rows that no other transaction has locked, and omits the other rows.
	SkipLocked string
	// countTable is a statement that returns the number of tables named $1, zero or one.
	countTable string
	// clock is an expression for the current time, in Unix milliseconds.
	clock string
}

var (
	sqliteDialect = Dialect{
		Name: "sqlite", driver: "sqlite", goose: goose.DialectSQLite3,
		countTable: "SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table' AND name = $1",
		clock:      "CAST(unixepoch('now', 'subsec') * 1000 AS INTEGER)",
	}
	postgresDialect = Dialect{
		Name: "postgres", driver: "pgx", goose: goose.DialectPostgres,
		ForUpdate: " FOR UPDATE", ForShare: " FOR SHARE", SkipLocked: " FOR UPDATE SKIP LOCKED",
		countTable: "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = current_schema() AND table_name = $1",
		clock:      "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)",
	}
)

// DialectOf returns the dialect for a database's URL.
func DialectOf(url string) (Dialect, error) {
	d, _, err := parseURL(url)
	return d, err
}

// IsPostgres reports whether the engine is PostgreSQL.
func (d Dialect) IsPostgres() bool { return d == postgresDialect }

// parseURL returns the dialect for a database's URL. For SQLite, source is the path of the file; for
// PostgreSQL, it is the URL.
func parseURL(url string) (d Dialect, source string, err error) {
	scheme, rest, _ := strings.Cut(url, ":")
	switch {
	case scheme == "postgres" || scheme == "postgresql":
		if _, err := pgconn.ParseConfig(url); err != nil { // the error may quote a part of the password
			return Dialect{}, "", errors.New("database URL: its host, port or parameters cannot be parsed")
		}
		return postgresDialect, url, nil
	case scheme == "sqlite":
		source = rest
	case !strings.Contains(url, "://"):
		source = url
	}
	if source == "" {
		return Dialect{}, "", errors.New("database URL: must be sqlite:PATH or postgres://…")
	}
	return sqliteDialect, source, nil
}
