// Package highwater stores, outside the database, a mark above every destination index that may have
// been used, so that no index is used twice after a crash or with an older copy of the database.
package highwater

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"chequer/internal/durable"
	"chequer/internal/filelock"
	"chequer/internal/storage/engine"
)

// maxAhead is the largest distance of a mark above the committed value of its counter.
const maxAhead = 100

// maxStep is the largest distance above an index at which its mark is set. A commit may contain as
// many indexes as transactions, and a crash rolls back all of them but not the marks.
const maxStep = maxAhead - engine.MaxBatch

// minStep is the distance above an index at which its mark is set while few indexes are allocated.
// The first start after a crash skips as many indexes, and wallets find no payments beyond their
// gap limit, usually 20.
const minStep = 8

// busyInterval is the time between two raises of a mark below which many indexes are allocated.
const busyInterval = time.Second

// Leap is the number of indexes that a counter skips if addresses may have been used that are not in
// the database.
const Leap = 1000

// Marks holds a high-water mark per counter. A mark is raised before the counter passes it, and is
// exact after a clean stop. If a counter is below its mark at a start, there was a crash, or the
// database is an older copy. The indexes in between may belong to invoices that are not in the
// database, so they are never allocated again. Therefore the file is not part of backups. Marks is
// safe for concurrent use.
type Marks struct {
	path    string // "" = no marks are stored
	counter *engine.Counter
	log     *slog.Logger
	use     *flock.Flock
	// lost is true if a counter without a mark means that the file was lost or not copied with
	// the database. This is the case on SQLite. On PostgreSQL this machine may be new.
	lost bool

	mu       sync.Mutex
	marks    map[string]int64
	given    map[string]int64     // by counter: last index allocated by this process
	raisedAt map[string]time.Time // by counter
	closed   bool
}

// Open reads the file, which may be absent, of the database of a dialect. An empty path stores no
// marks. The counter holds the next indexes; without it, only Skip allocates indexes. The caller must
// call Close.
func Open(path string, d engine.Dialect, counter *engine.Counter, log *slog.Logger) (*Marks, error) {
	r := &Marks{
		path: path, counter: counter, log: log, lost: !d.IsPostgres(),
		marks: map[string]int64{}, given: map[string]int64{}, raisedAt: map[string]time.Time{},
	}
	if path == "" {
		return r, nil
	}
	r.use = filelock.New(path + ".use")
	// A file that cannot be written must stop the start, not the first creation.
	if err := r.locked(func() error { return r.read() }); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Close releases the shared lock, so that another process can get the exclusive one.
func (r *Marks) Close() error {
	if r.use == nil {
		return nil
	}
	return r.use.Unlock()
}

// alone tries to get the exclusive lock on the file of uses, and reports whether it succeeded. Every
// process that uses the marks holds a shared lock on this file. While a process has the exclusive
// lock, no other process has raised marks that are ahead of their counters.
func (r *Marks) alone() (bool, error) {
	// Windows cannot exchange a shared lock for an exclusive one, and other systems release the first
	// before they try to take the second.
	err := r.use.Unlock()
	alone := false
	if err == nil {
		alone, err = r.use.TryLock()
	}
	if err != nil {
		return false, fmt.Errorf("lock index marks: %w", err)
	}
	return alone, nil
}

// useRetry is the interval at which a process tries to get the shared lock while another one, which
// starts or stops, holds the exclusive lock.
const useRetry = 20 * time.Millisecond

// shareUse takes the shared lock, in place of the exclusive one if that is held.
func (r *Marks) shareUse(ctx context.Context) error {
	err := r.use.Unlock()
	if err == nil {
		_, err = r.use.TryRLockContext(ctx, useRetry)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("wait for the start of another process: %w", ctx.Err())
	case err != nil:
		return fmt.Errorf("lock index marks: %w", err)
	}
	return nil
}

// locked runs do while no other process with this data directory uses the marks.
func (r *Marks) locked(do func() error) error {
	lock := filelock.New(r.path + ".lock")
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("lock index marks: %w", err)
	}
	defer func() { _ = lock.Unlock() }() // the file has no content
	return do()
}

// read raises the marks to those in the file, which may be absent.
func (r *Marks) read() error {
	text, err := os.ReadFile(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read index marks: %w", err)
	}
	var marks map[string]int64
	if err := json.Unmarshal(text, &marks); err != nil {
		return fmt.Errorf("read index marks: %s is damaged; without the file the next addresses skip %d: %w", r.path, Leap, err)
	}
	for counter, mark := range marks {
		r.marks[counter] = max(mark, r.marks[counter])
	}
	return nil
}

// Next allocates the next unused index of a counter. If the transaction fails, the index stays
// unused.
func (r *Marks) Next(ctx context.Context, q engine.Querier, counter string) (int64, error) {
	after, err := r.counter.Add(ctx, q, counter, 1)
	if err != nil {
		return 0, err
	}
	stored := after - 1
	index, err := r.next(counter, stored)
	if err != nil || index == stored {
		return index, err
	}
	r.log.Warn("destination indexes skipped: some may be in use without a record in the database", "from", stored, "to", index)
	if err := r.counter.Set(ctx, q, counter, index+1); err != nil {
		return 0, fmt.Errorf("skip indexes: %w", err)
	}
	return index, nil
}

// next returns the index to allocate for a counter with the value index: index itself, or a higher
// one if the indexes in between may be used. When next returns, the counter's mark is above that
// index, on disk.
func (r *Marks) next(counter string, index int64) (int64, error) {
	if r.path == "" {
		return index, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return 0, engine.ErrClosed
	}
	mark, known := r.marks[counter]
	if known && index < mark && mark <= index+maxAhead {
		r.given[counter] = index
		return index, nil
	}
	err := r.locked(func() (err error) {
		index, err = r.decide(counter, index)
		return err
	})
	if err == nil {
		r.given[counter] = index
	}
	return index, err
}

// decide is next for the case that the mark must be read from the file, or raised. Another process
// may have raised it in the meantime.
func (r *Marks) decide(counter string, index int64) (int64, error) {
	if err := r.read(); err != nil {
		return 0, err
	}
	mark, known := r.marks[counter]
	switch {
	case known && mark > index+maxAhead:
		index = beyond(mark, index)
	case !known && r.lost && index > 0:
		index += Leap
	}
	if known && index < mark {
		return index, nil
	}
	return index, r.raise(counter, index)
}

// beyond returns the first index that a counter below its mark may allocate.
func beyond(mark, index int64) int64 {
	if mark > index+maxAhead { // too far for a crash
		return max(index+Leap, mark)
	}
	return mark
}

// raise writes the mark of an index, completely or not at all. The mark is further above the index
// if it was raised less than busyInterval ago. The counters of one merchant's keys advance
// together, so other marks that must be raised soon are raised as well, with a single wait for the
// disk.
func (r *Marks) raise(counter string, index int64) error {
	now, step := time.Now(), int64(minStep)
	if now.Sub(r.raisedAt[counter]) < busyInterval {
		step = maxStep
	}
	marks := maps.Clone(r.marks)
	for other, given := range r.given {
		if marks[other] <= given+step/2 {
			marks[other] = given + step
			r.raisedAt[other] = now
		}
	}
	marks[counter] = index + step
	r.raisedAt[counter] = now
	return r.write(marks)
}

// write writes marks to the file.
func (r *Marks) write(marks map[string]int64) error {
	text, err := json.Marshal(marks)
	if err == nil {
		err = durable.Replace(r.path, text)
	}
	if err != nil {
		return fmt.Errorf("write index marks: %w", err)
	}
	r.marks = marks
	return nil
}

// end refuses further indexes, and returns the counters that have marks.
func (r *Marks) end() []string {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	return r.Counters()
}

// settle sets the marks to the exact counters, so that the next start skips nothing. The caller
// holds the exclusive lock. A mark that is further ahead than a crash explains is kept.
func (r *Marks) settle(counters map[string]int64) error {
	return r.locked(func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if err := r.read(); err != nil {
			return err
		}
		marks := maps.Clone(r.marks)
		for counter, next := range counters {
			if mark, known := marks[counter]; known && mark <= next+maxAhead {
				marks[counter] = next
			}
		}
		if maps.Equal(marks, r.marks) {
			return nil
		}
		return r.write(marks)
	})
}

// Prove writes the marks without a change, to prove that they can be written.
func (r *Marks) Prove() error {
	if r.path == "" {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.locked(func() error {
		if err := r.read(); err != nil {
			return err
		}
		return r.write(maps.Clone(r.marks))
	})
}

// Counters returns the counters that have marks.
func (r *Marks) Counters() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.marks))
}

// Skip returns the next index of a counter whose next index in a backup was next. The counter's
// mark is on disk when Skip returns.
func (r *Marks) Skip(counter string, next int64) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next = max(next+Leap, r.marks[counter])
	if r.path == "" {
		return next, nil
	}
	marks := maps.Clone(r.marks)
	marks[counter] = next
	return next, r.locked(func() error { return r.write(marks) })
}
