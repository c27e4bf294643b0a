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

// busyInterval is the time between two raises of a mark below which many indexes are being allocated.
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
	useLock *flock.Flock // see tryLockExclusive
	// missingMeansLost is true if a counter without a mark means that the file was lost or not copied with
	// the database. This is the case on SQLite. On PostgreSQL this machine may be new.
	missingMeansLost bool

	mu        sync.Mutex
	marks     map[string]int64
	allocated map[string]int64     // by counter: last index allocated by this process
	raisedAt  map[string]time.Time // by counter
	closed    bool
}

// Open reads the marks of a database of dialect d from the file at path, which may be absent. If path is
// empty, no marks are stored. The counter holds the next indexes; if it is nil, only Skip allocates
// indexes. The caller must call Close.
func Open(path string, d engine.Dialect, counter *engine.Counter, log *slog.Logger) (*Marks, error) {
	m := &Marks{
		path: path, counter: counter, log: log, missingMeansLost: !d.IsPostgres(),
		marks: map[string]int64{}, allocated: map[string]int64{}, raisedAt: map[string]time.Time{},
	}
	if path == "" {
		return m, nil
	}
	m.useLock = filelock.New(path + ".use")
	// A file that cannot be written must stop the start, not the first creation.
	if err := m.locked(m.read); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// Close releases the shared lock, so that another process can get the exclusive one.
func (m *Marks) Close() error {
	if m.useLock == nil {
		return nil
	}
	return m.useLock.Unlock()
}

// tryLockExclusive tries to get the exclusive lock on the file path+".use", and reports whether it succeeded.
// Every process that uses the marks holds a shared lock on this file. While a process has the exclusive
// lock, no other process has raised marks that are ahead of their counters.
func (m *Marks) tryLockExclusive() (bool, error) {
	// Windows cannot exchange a shared lock for an exclusive one, and other systems release the first
	// before they try to take the second.
	err := m.useLock.Unlock()
	isLocked := false
	if err == nil {
		isLocked, err = m.useLock.TryLock()
	}
	if err != nil {
		return false, fmt.Errorf("lock index marks: %w", err)
	}
	return isLocked, nil
}

// useRetry is the interval at which a process tries to get the shared lock while another one, which
// starts or stops, holds the exclusive lock.
const useRetry = 20 * time.Millisecond

// lockShared takes the shared lock, in place of the exclusive one if that is held.
func (m *Marks) lockShared(ctx context.Context) error {
	err := m.useLock.Unlock()
	if err == nil {
		_, err = m.useLock.TryRLockContext(ctx, useRetry)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("wait for the start of another process: %w", ctx.Err())
	case err != nil:
		return fmt.Errorf("lock index marks: %w", err)
	}
	return nil
}

// locked runs do while no other process with this data directory reads or writes the marks.
func (m *Marks) locked(do func() error) error {
	lock := filelock.New(m.path + ".lock")
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("lock index marks: %w", err)
	}
	defer func() { _ = lock.Unlock() }() // an error loses nothing, since the file has no content
	return do()
}

// read raises the marks to those in the file, which may be absent.
func (m *Marks) read() error {
	text, err := os.ReadFile(m.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read index marks: %w", err)
	}
	var marks map[string]int64
	if err := json.Unmarshal(text, &marks); err != nil {
		return fmt.Errorf("read index marks: %s is damaged; without the file the next addresses skip %d: %w", m.path, Leap, err)
	}
	for counter, mark := range marks {
		m.marks[counter] = max(mark, m.marks[counter])
	}
	return nil
}

// Next allocates the next unused index of a counter. If the transaction fails, the index stays
// unused.
func (m *Marks) Next(ctx context.Context, q engine.Querier, counter string) (int64, error) {
	after, err := m.counter.Add(ctx, q, counter, 1)
	if err != nil {
		return 0, err
	}
	stored := after - 1
	index, err := m.next(counter, stored)
	if err != nil || index == stored {
		return index, err
	}
	m.log.Warn("destination indexes skipped: some may be in use without a record in the database", "from", stored, "to", index)
	if err := m.counter.Set(ctx, q, counter, index+1); err != nil {
		return 0, fmt.Errorf("skip indexes: %w", err)
	}
	return index, nil
}

// Raise raises the mark of a counter that was set to next for another reason than an allocation, such as a
// new wallet whose first indexes are in use. On SQLite, Next would take a counter above 0 without a mark for a
// counter whose mark was lost, and would skip Leap indexes.
func (m *Marks) Raise(counter string, next int64) error {
	if m.path == "" {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return engine.ErrClosed
	}
	return m.locked(func() error {
		if err := m.read(); err != nil {
			return err
		}
		if mark, known := m.marks[counter]; known && mark > next {
			return nil
		}
		return m.raise(counter, next)
	})
}

// next returns the index to allocate for a counter with the value index: index itself, or a higher
// one if the indexes in between may be used. When next returns, the counter's mark is above that
// index, on disk.
func (m *Marks) next(counter string, index int64) (int64, error) {
	if m.path == "" {
		return index, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return 0, engine.ErrClosed
	}
	mark, known := m.marks[counter]
	if known && index < mark && mark <= index+maxAhead {
		m.allocated[counter] = index
		return index, nil
	}
	err := m.locked(func() (err error) {
		index, err = m.nextFromFile(counter, index)
		return err
	})
	if err == nil {
		m.allocated[counter] = index
	}
	return index, err
}

// nextFromFile is next if the mark in memory does not allow the index: it reads the marks from the file, because
// another process may have raised the mark, and raises the mark if necessary.
func (m *Marks) nextFromFile(counter string, index int64) (int64, error) {
	if err := m.read(); err != nil {
		return 0, err
	}
	mark, known := m.marks[counter]
	switch {
	case known && mark > index+maxAhead:
		index = indexAboveMark(mark, index)
	case !known && m.missingMeansLost && index > 0:
		index += Leap
	}
	if known && index < mark {
		return index, nil
	}
	return index, m.raise(counter, index)
}

// indexAboveMark returns the first index that a counter may allocate whose value index is below its mark.
func indexAboveMark(mark, index int64) int64 {
	if mark > index+maxAhead { // too far for a crash
		return max(index+Leap, mark)
	}
	return mark
}

// raise writes the mark of an index, completely or not at all. The mark is further above the index
// if it was raised less than busyInterval ago. The counters of one merchant's keys advance
// together, so other marks that must be raised soon are raised as well, with a single wait for the
// disk.
func (m *Marks) raise(counter string, index int64) error {
	now, step := time.Now(), int64(minStep)
	if now.Sub(m.raisedAt[counter]) < busyInterval {
		step = maxStep
	}
	marks := maps.Clone(m.marks)
	for other, otherIndex := range m.allocated {
		if marks[other] <= otherIndex+step/2 {
			marks[other] = otherIndex + step
			m.raisedAt[other] = now
		}
	}
	marks[counter] = index + step
	m.raisedAt[counter] = now
	return m.write(marks)
}

// write writes marks to the file.
func (m *Marks) write(marks map[string]int64) error {
	text, err := json.Marshal(marks)
	if err == nil {
		err = durable.Replace(m.path, text)
	}
	if err != nil {
		return fmt.Errorf("write index marks: %w", err)
	}
	m.marks = marks
	return nil
}

// stop makes Next return engine.ErrClosed, and returns the counters that have marks.
func (m *Marks) stop() []string {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	return m.Counters()
}

// settle sets the marks to the exact counters, so that the next start skips nothing. The caller
// holds the exclusive lock. A mark that is further ahead than a crash explains is kept.
func (m *Marks) settle(counters map[string]int64) error {
	return m.locked(func() error {
		m.mu.Lock()
		defer m.mu.Unlock()
		if err := m.read(); err != nil {
			return err
		}
		marks := maps.Clone(m.marks)
		for counter, next := range counters {
			if mark, known := marks[counter]; known && mark <= next+maxAhead {
				marks[counter] = next
			}
		}
		if maps.Equal(marks, m.marks) {
			return nil
		}
		return m.write(marks)
	})
}

// Prove writes the marks unchanged, and returns an error if that fails.
func (m *Marks) Prove() error {
	if m.path == "" {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.locked(func() error {
		if err := m.read(); err != nil {
			return err
		}
		return m.write(maps.Clone(m.marks))
	})
}

// Counters returns the counters that have marks.
func (m *Marks) Counters() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.marks))
}

// Skip returns the next index of a restored counter: Leap above next, its next index in the backup, or its
// mark if the mark is higher. The counter's new mark is on disk when Skip returns.
func (m *Marks) Skip(counter string, next int64) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	next = max(next+Leap, m.marks[counter])
	if m.path == "" {
		return next, nil
	}
	marks := maps.Clone(m.marks)
	marks[counter] = next
	return next, m.locked(func() error { return m.write(marks) })
}
