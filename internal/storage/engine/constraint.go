package engine

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// MissesReference reports whether a statement failed because a row that it refers to does not exist:
// foreign_key_violation. See PostgreSQL, appendix A, and SQLite, "Result and Error Codes".
func MissesReference(err error) bool {
	if fault, ok := errors.AsType[*sqlite.Error](err); ok {
		return fault.Code() == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY
	}
	fault, ok := errors.AsType[*pgconn.PgError](err)
	return ok && fault.Code == "23503"
}

// IsDuplicate reports whether a statement failed because a column that must be unique has the value in
// another row: unique_violation.
func IsDuplicate(err error) bool {
	if fault, ok := errors.AsType[*sqlite.Error](err); ok {
		return fault.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE
	}
	fault, ok := errors.AsType[*pgconn.PgError](err)
	return ok && fault.Code == "23505"
}
