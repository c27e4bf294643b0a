package storage

import (
	"database/sql"
	"time"
)

// millis returns a time for its column, NULL if it is zero. Columns of times that are never zero
// are plain integers.
func millis(t time.Time) sql.Null[int64] {
	if t.IsZero() {
		return sql.Null[int64]{}
	}
	return sql.Null[int64]{V: t.UnixMilli(), Valid: true}
}

// fromMillis returns the time of a column that millis wrote.
func fromMillis(ms sql.Null[int64]) time.Time {
	if !ms.Valid {
		return time.Time{}
	}
	return utc(ms.V)
}

// utc returns the time of a column that is never NULL.
func utc(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
