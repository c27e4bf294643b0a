package storage

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// beginTries is how often the writer waits for another process to end its
// transaction, each time for the busy timeout, before it gives up.
const beginTries = 3

// writer runs the transactions of all callers on one connection, one after the
// other, and commits those that wait together at once: a commit waits for the
// disk, and so many share one wait. Each has a savepoint of its own, so that an
// error or a panic undoes it alone. Nobody is answered before the commit, and
// when that fails everybody is told.
type writer struct {
	db    *sql.DB
	conn  *prepared
	queue chan *job
	ended chan struct{}
	log   *slog.Logger

	mu     sync.RWMutex // held to send to queue, and alone to close it
	closed bool
}

// newWriter starts a writer on the only connection of a database.
func newWriter(ctx context.Context, db *sql.DB, log *slog.Logger) (*writer, error) {
	conn, err := newPrepared(ctx, db)
	if err != nil {
		return nil, err
	}
	w := &writer{db: db, conn: conn, queue: make(chan *job, maxBatch), ended: make(chan struct{}), log: log}
	w.checkpoint(ctx) // of what migrations and a crash left
	go w.run()
	return w, nil
}

// write does work in a transaction and returns when it is committed. A panic of
// the work is one here.
func (w *writer) write(ctx context.Context, do work) error {
	j := newJob(ctx, do)
	if err := w.enqueue(ctx, j); err != nil {
		return err
	}
	return j.wait(ctx)
}

// drain refuses new work and returns when all that waits is done.
func (w *writer) drain() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return ErrClosed
	}
	w.closed = true
	close(w.queue)
	<-w.ended
	return nil
}

// close closes the database after drain.
func (w *writer) close() error {
	if err := w.conn.close(); err != nil {
		return err
	}
	return w.db.Close()
}

func (w *writer) enqueue(ctx context.Context, j *job) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return ErrClosed
	}
	select {
	case w.queue <- j:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// checkpointDelay is how long after a commit the log is put back into the database's
// file, if the writer is idle then.
const checkpointDelay = 2 * time.Second

// run commits batch after batch until the queue is closed and empty. It does not wait
// for more jobs: those that arrived meanwhile are the next batch.
func (w *writer) run() {
	defer close(w.ended)
	ctx := context.Background()
	var due <-chan time.Time // of the next checkpoint; nil = the log is empty
	for {
		select {
		case j, ok := <-w.queue:
			if !ok {
				return
			}
			w.batch(ctx, j)
			if due == nil {
				due = time.After(checkpointDelay)
			}
		case <-due:
			due = nil
			if len(w.queue) > 0 {
				due = time.After(checkpointDelay)
				continue
			}
			w.checkpoint(ctx)
		}
	}
}

// batch commits a job with those that wait, and answers them.
func (w *writer) batch(ctx context.Context, first *job) {
	batch := []*job{first}
	for range min(len(w.queue), maxBatch-1) {
		batch = append(batch, <-w.queue)
	}
	err := w.commit(ctx, batch)
	for _, j := range batch {
		j.answer(err)
	}
}

// checkpoint puts the log back into the database's file, as far as readers allow, so
// that a copy of the file alone is nearly complete. See SQLite, "Write-Ahead Logging".
func (w *writer) checkpoint(ctx context.Context) {
	var busy, logged, moved int64
	err := w.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &logged, &moved)
	if err != nil {
		w.log.Warn("log not put back into the database's file", "error", err)
	}
}

// commit does a batch in one transaction. An error undid all of it.
func (w *writer) commit(ctx context.Context, batch []*job) error {
	if err := w.begin(ctx); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := doAll(ctx, w.conn, batch); err != nil {
		w.rollback(ctx)
		return err
	}
	if _, err := w.conn.ExecContext(ctx, "COMMIT"); err != nil {
		w.rollback(ctx)
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

func (w *writer) begin(ctx context.Context) error {
	for try := 1; ; try++ {
		_, err := w.conn.ExecContext(ctx, "BEGIN IMMEDIATE")
		if err == nil || !busy(err) || try == beginTries {
			return err
		}
		w.log.Warn("another process keeps the database locked", "tries", try)
	}
}

// rollback ends a transaction that failed. Some faults, such as a full disk,
// have ended it already, and then it fails itself.
func (w *writer) rollback(ctx context.Context) { _, _ = w.conn.ExecContext(ctx, "ROLLBACK") }
