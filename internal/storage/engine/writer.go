package engine

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// maxBeginAttempts is the largest number of times that the writer waits, each time for the busy timeout, for
// another process to end its transaction.
const maxBeginAttempts = 3

// writer runs the transactions of all callers on one connection, one after the other. Transactions
// that wait at the same time share a commit, because each commit waits for the disk. Each transaction has
// a savepoint, so that an error or a panic rolls back only that transaction. No caller gets a result before
// the commit. If the commit fails, every caller gets the error.
type writer struct {
	db    *sql.DB
	conn  *prepared
	queue chan *job
	done  chan struct{}
	log   *slog.Logger

	mu     sync.RWMutex // read-locked to send to queue, locked to close it
	closed bool
}

// newWriter starts a writer on the only connection of a database.
func newWriter(ctx context.Context, db *sql.DB, log *slog.Logger) (*writer, error) {
	conn, err := newPrepared(ctx, db)
	if err != nil {
		return nil, err
	}
	w := &writer{db: db, conn: conn, queue: make(chan *job, MaxBatch), done: make(chan struct{}), log: log}
	w.checkpoint(ctx) // the write-ahead log may have content from migrations or from before a crash
	go w.run()
	return w, nil
}

// write runs work in a transaction and returns when it is committed. It panics if the work panicked.
func (w *writer) write(ctx context.Context, do Work) error {
	j := newJob(ctx, do)
	if err := w.enqueue(ctx, j); err != nil {
		return err
	}
	return j.wait(ctx)
}

// drain refuses new work and returns when all waiting work is done.
func (w *writer) drain() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return ErrClosed
	}
	w.closed = true
	close(w.queue)
	<-w.done
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

// checkpointDelay is the time after a commit when the write-ahead log is moved into the database's
// file, if the writer is idle.
const checkpointDelay = 2 * time.Second

// run commits batches until the queue is closed and empty. It does not wait for more jobs: the jobs that
// arrived during a commit are the next batch.
func (w *writer) run() {
	defer close(w.done)
	ctx := context.Background()
	var due <-chan time.Time // time of the next checkpoint; nil = the log is empty
	for {
		select {
		case j, ok := <-w.queue:
			if !ok {
				return
			}
			w.runBatch(ctx, j)
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

// runBatch commits a job together with the waiting jobs, and answers all of them.
func (w *writer) runBatch(ctx context.Context, first *job) {
	batch := []*job{first}
	for range min(len(w.queue), MaxBatch-1) {
		batch = append(batch, <-w.queue)
	}
	err := w.commit(ctx, batch)
	for _, j := range batch {
		j.answer(err)
	}
}

// checkpoint moves the write-ahead log into the database's file, as far as readers allow, so that a
// copy of only the file is nearly complete. See SQLite, "Write-Ahead Logging".
func (w *writer) checkpoint(ctx context.Context) {
	var busy, logged, moved int64
	err := w.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &logged, &moved)
	if err != nil {
		w.log.Warn("checkpoint failed", "error", err)
	}
}

// commit runs a batch in one transaction. After an error everything is rolled back.
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
	for attempt := 1; ; attempt++ {
		_, err := w.conn.ExecContext(ctx, "BEGIN IMMEDIATE")
		if err == nil || !isBusy(err) || attempt == maxBeginAttempts {
			return err
		}
		w.log.Warn("another process keeps the database locked", "tries", attempt)
	}
}

// rollback ends a failed transaction. It ignores an error of the statement, because some errors, such as a
// full disk, have ended the transaction already.
func (w *writer) rollback(ctx context.Context) { _, _ = w.conn.ExecContext(ctx, "ROLLBACK") }
