package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"runtime"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// minReaders is the smallest number of connections for reading.
const minReaders = 4

// defaultBusyTimeout is the time to wait for a lock of another process if Options.BusyTimeout is zero.
const defaultBusyTimeout = 10 * time.Second

// sqliteDatabase reads on several connections and writes on one.
type sqliteDatabase struct {
	writer  *writer
	readers chan *prepared
	closing chan struct{}
	reading *sql.DB
	path    string
	file    fs.FileInfo // the open file
}

// errMoved means that the database's file was deleted or replaced while it is open. Written data is lost
// when this process ends.
var errMoved = errors.New("the file of the database was deleted or replaced while the server runs: stop the server, then put the file in place")

// newSQLite returns the engine of an open database. path is the database's file.
func newSQLite(ctx context.Context, db *sql.DB, path string, o Options) (*sqliteDatabase, error) {
	file, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	reading, err := sql.Open("sqlite", sqliteReadDSN(path, o.BusyTimeout))
	if err != nil {
		return nil, err
	}
	s := &sqliteDatabase{
		path: path, file: file,
		readers: make(chan *prepared, max(minReaders, runtime.NumCPU())),
		closing: make(chan struct{}), reading: reading,
	}
	for range cap(s.readers) {
		r, err := newPrepared(ctx, reading)
		if err != nil {
			return nil, errors.Join(err, reading.Close())
		}
		s.readers <- r
	}
	if s.writer, err = newWriter(ctx, db, o.Log); err != nil {
		return nil, errors.Join(err, reading.Close())
	}
	return s, nil
}

// write implements database.
func (s *sqliteDatabase) write(ctx context.Context, w Work) error { return s.writer.write(ctx, w) }

// share implements database. All writes share commits.
func (s *sqliteDatabase) share(ctx context.Context, _ string, w Work) error { return s.write(ctx, w) }

// read implements database. Reads are short, so a running read is never interrupted.
func (s *sqliteDatabase) read(ctx context.Context, w Work) error {
	select {
	case <-s.closing:
		return ErrClosed
	default:
	}
	select {
	case r := <-s.readers:
		defer func() { s.readers <- r }()
		return w(context.WithoutCancel(ctx), r)
	case <-s.closing:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// snapshot implements database.
func (s *sqliteDatabase) snapshot(ctx context.Context, w Work) error {
	return s.read(ctx, func(ctx context.Context, q Querier) (err error) {
		if _, err := q.ExecContext(ctx, "BEGIN"); err != nil {
			return fmt.Errorf("begin: %w", err)
		}
		defer func() {
			_, rollbackErr := q.ExecContext(ctx, "ROLLBACK") // nothing to commit
			err = errors.Join(err, rollbackErr)
		}()
		return w(ctx, q)
	})
}

// checkPlace implements database. It returns errMoved if the file at the path is not the open file.
func (s *sqliteDatabase) checkPlace() error {
	file, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(file, s.file) {
		return errMoved
	}
	return err
}

// waiting implements database.
func (s *sqliteDatabase) waiting() (callers, groups int) { return len(s.writer.queue), 0 }

// close implements database. It closes the writer's connection last, so that this connection moves
// the write-ahead log into the database's file.
func (s *sqliteDatabase) close() error {
	if err := s.writer.drain(); err != nil {
		return err
	}
	close(s.closing)
	var err error
	for range cap(s.readers) {
		r := <-s.readers
		err = errors.Join(err, r.close())
	}
	return errors.Join(err, s.reading.Close(), s.writer.close())
}

// makeFile makes a database's file, readable only by its owner, if it does not exist. An existing
// file is not opened: closing it here would release the locks that SQLite holds on it in this
// process.
func makeFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// sqliteWriteDSN returns the data source name of a file for the connection that writes: commits are
// synced to disk, it waits for a lock of another process, and rollback data of savepoints is kept
// in memory. The write-ahead log is moved into the file every 16 MiB, so that pages that change
// often are written there only once. The cache grows to 16 MiB, because scripts and IDs are random, so that
// their entries are on random pages of the indexes.
func sqliteWriteDSN(path string, busy time.Duration) string {
	return sqliteURL(path, url.Values{
		"_pragma": {busyPragma(busy), "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)", "temp_store(MEMORY)", "cache_size(-16384)", "wal_autocheckpoint(4000)"},
		"_txlock": {"immediate"},
	})
}

// sqliteReadDSN returns the data source name of a file for connections that read.
func sqliteReadDSN(path string, busy time.Duration) string {
	return sqliteURL(path, url.Values{"_pragma": {busyPragma(busy), "query_only(1)"}})
}

func busyPragma(busy time.Duration) string {
	return fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds())
}

func sqliteURL(path string, options url.Values) string {
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + options.Encode()
}

// isBusy reports whether a statement failed only because another process holds a lock.
func isBusy(err error) bool {
	var fault *sqlite.Error
	return errors.As(err, &fault) && fault.Code()&0xff == sqlite3.SQLITE_BUSY
}
