package storage

import (
	"database/sql"
	"time"
)

// millis is a time as columns keep it, NULL when it is zero. Columns of times
// that are always there are plain integers.
func millis(t time.Time) sql.Null[int64] {
	if t.IsZero() {
		return sql.Null[int64]{}
	}
	return sql.Null[int64]{V: t.UnixMilli(), Valid: true}
}

// fromMillis is the time that millis wrote.
func fromMillis(ms sql.Null[int64]) time.Time {
	if !ms.Valid {
		return time.Time{}
	}
	return utc(ms.V)
}

func utc(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
