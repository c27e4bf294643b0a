package storage

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"chequer/internal/invoice"
)

// availability is invoice.ErrUnavailable, with the cause, for an error that only
// says that the database does not answer now. What such a transaction was to do
// may be done or not.
func (s *Storage) availability(ctx context.Context, err error) error {
	switch {
	case err == nil:
		if s.outage.answered(time.Now()) {
			s.log.Info("database answers again")
		}
		return nil
	case ctx.Err() != nil || !busy(err) && !lost(err) && !full(err):
		return err
	}
	if s.outage.failed(time.Now()) {
		s.log.Warn("database does not answer", "error", err)
	}
	return fmt.Errorf("%w: %w", invoice.ErrUnavailable, err)
}

// unusable are the codes with which SQLite says that the disk is full, fails or takes no
// writes. See SQLite, "Result and Error Codes".
var unusable = []int{sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}

// full reports whether a disk is full or otherwise takes no writes: disk_full of
// PostgreSQL.
func full(err error) bool {
	if fault, ok := errors.AsType[*sqlite.Error](err); ok {
		return slices.Contains(unusable, fault.Code()&0xff)
	}
	fault, ok := errors.AsType[*pgconn.PgError](err)
	return ok && fault.Code == "53100" || errors.Is(err, syscall.ENOSPC)
}

// leaving are the codes with which PostgreSQL says, but for class 08, that it is
// away for a while, or that this connection is: admin_shutdown, crash_shutdown,
// cannot_connect_now, database_dropped, idle_session_timeout,
// idle_in_transaction_session_timeout, too_many_connections, out_of_memory and
// io_error. See PostgreSQL, appendix A.
var leaving = []string{"57P01", "57P02", "57P03", "57P04", "57P05", "25P03", "53300", "53200", "58030"}

// lost reports whether a statement failed only because there is no connection to a
// PostgreSQL that takes writes, or no more.
func lost(err error) bool {
	if fault, ok := errors.AsType[*pgconn.PgError](err); ok {
		return strings.HasPrefix(fault.Code, "08") || slices.Contains(leaving, fault.Code) || readOnly(err)
	}
	_, unconnected := errors.AsType[*pgconn.ConnectError](err)
	_, broken := errors.AsType[*net.OpError](err)
	return unconnected || broken || pgconn.SafeToRetry(err) || slices.ContainsFunc(
		[]error{driver.ErrBadConn, pgconn.ErrConnClosed, io.EOF, io.ErrUnexpectedEOF},
		func(known error) bool { return errors.Is(err, known) })
}
