package engine

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
)

// wrapUnavailable wraps err in Options.Unavailable if err only means that the database is temporarily
// unavailable, and otherwise returns err. The transaction may or may not have been committed. It logs the
// beginning and the end of an outage.
func (e *Engine) wrapUnavailable(ctx context.Context, err error) error {
	switch {
	case err == nil:
		if e.outage.noteAnswer(time.Now()) {
			e.log.Info("database answers again")
		}
		return nil
	case ctx.Err() != nil || !isBusy(err) && !isLostConnection(err) && !isDiskFull(err):
		return err
	}
	if e.outage.noteFailure(time.Now()) {
		e.log.Warn("database does not answer", "error", err)
	}
	return fmt.Errorf("%w: %w", e.options.Unavailable, err)
}

// unusableDiskCodes are SQLite's codes for a disk that is full, fails or accepts no writes. See SQLite,
// "Result and Error Codes".
var unusableDiskCodes = []int{sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}

// isDiskFull reports whether the disk is full or otherwise accepts no writes: disk_full on PostgreSQL.
func isDiskFull(err error) bool {
	if fault, ok := errors.AsType[*sqlite.Error](err); ok {
		return slices.Contains(unusableDiskCodes, fault.Code()&0xff)
	}
	fault, ok := errors.AsType[*pgconn.PgError](err)
	return ok && fault.Code == "53100" || errors.Is(err, syscall.ENOSPC)
}

// unavailableCodes are PostgreSQL's codes, in addition to class 08, for a server or a connection that is
// temporarily unavailable: admin_shutdown, crash_shutdown, cannot_connect_now, database_dropped,
// idle_session_timeout, idle_in_transaction_session_timeout, too_many_connections, out_of_memory
// and io_error. See PostgreSQL, appendix A.
var unavailableCodes = []string{"57P01", "57P02", "57P03", "57P04", "57P05", "25P03", "53300", "53200", "58030"}

// isLostConnection reports whether a statement failed only because there is no connection, or no connection any
// more, to a PostgreSQL that accepts writes.
func isLostConnection(err error) bool {
	if fault, ok := errors.AsType[*pgconn.PgError](err); ok {
		return strings.HasPrefix(fault.Code, "08") || slices.Contains(unavailableCodes, fault.Code) || isReadOnlyServer(err)
	}
	_, unconnected := errors.AsType[*pgconn.ConnectError](err)
	_, isNetError := errors.AsType[*net.OpError](err)
	return unconnected || isNetError || pgconn.SafeToRetry(err) || slices.ContainsFunc(
		[]error{driver.ErrBadConn, pgconn.ErrConnClosed, io.EOF, io.ErrUnexpectedEOF},
		func(known error) bool { return errors.Is(err, known) })
}
