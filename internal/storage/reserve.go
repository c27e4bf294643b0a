package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"chequer/internal/durable"
)

// ahead is how far a mark may be above its counter, as far as that is committed.
const ahead = 100

// maxStep is how far above an index its mark is put at most. A commit may hold as many
// indexes as transactions, and a crash undoes all of them but not the marks.
const maxStep = ahead - maxBatch

// minStep is how far above an index its mark is put while few indexes are handed out.
// The first start after a crash skips as many, and wallets find no payments beyond
// their gap limit, usually 20.
const minStep = 8

// busyInterval is how long minStep indexes last at least while few are handed out.
const busyInterval = time.Second

// leap is how far a counter jumps when addresses may have been handed out that
// the database does not know of.
const leap = 1000

// reserve remembers, outside the database, how far destination indexes may have
// been used: a mark per counter, raised before the counter passes it and exact after
// a clean stop. A start at which a counter is below its mark follows a crash, or runs
// on an older copy of the database; the indexes in between may belong to invoices
// that the database does not know, so they are never handed out again. The file is
// left out of backups for that reason.
type reserve struct {
	path string // "" = nothing is remembered
	use  *os.File
	// lost is what a counter without a mark means: on SQLite the file was lost or
	// left behind, on PostgreSQL this machine is new.
	lost bool

	mu       sync.Mutex
	marks    map[string]int64
	given    map[string]int64     // the last index handed out here, by counter
	raisedAt map[string]time.Time // by counter
	closed   bool
}

// openReserve reads the file, which may be absent. close must be called.
func openReserve(path string, d dialect) (*reserve, error) {
	r := &reserve{path: path, lost: d == sqliteDialect, marks: map[string]int64{}, given: map[string]int64{}, raisedAt: map[string]time.Time{}}
	if path == "" {
		return r, nil
	}
	var err error
	if r.use, err = os.OpenFile(path+".use", os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, fmt.Errorf("lock index marks: %w", err)
	}
	// A file that cannot be written stops the start, not the first shopper.
	if err := r.locked(func() error { return r.read() }); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

// close lets other processes find out that they are alone.
func (r *reserve) close() error {
	if r.use == nil {
		return nil
	}
	return r.use.Close() // releases the lock
}

// Every process that uses the marks holds a shared lock on the file of uses. A process
// that gets the exclusive lock is alone: no other one has raised marks that are ahead
// of their counters.

// alone takes the exclusive lock, and reports whether it got it.
func (r *reserve) alone() (bool, error) {
	err := syscall.Flock(int(r.use.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("lock index marks: %w", err)
	}
	return true, nil
}

// useRetry is how often a process tries to get the shared lock while another one, that
// is starting or stopping, holds the exclusive one.
const useRetry = 20 * time.Millisecond

// shareUse takes the shared lock instead of the exclusive one, if that is held.
func (r *reserve) shareUse(ctx context.Context) error {
	for {
		err := syscall.Flock(int(r.use.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return fmt.Errorf("lock index marks: %w", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for another process that starts: %w", ctx.Err())
		case <-time.After(useRetry):
		}
	}
}

// locked does something while no other process of this data directory is at the
// marks.
func (r *reserve) locked(do func() error) error {
	f, err := os.OpenFile(r.path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("lock index marks: %w", err)
	}
	defer f.Close() // gives the lock back
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock index marks: %w", err)
	}
	return do()
}

// read takes in what is higher in the file. It need not be there.
func (r *reserve) read() error {
	text, err := os.ReadFile(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read index marks: %w", err)
	}
	var marks map[string]int64
	if err := json.Unmarshal(text, &marks); err != nil {
		return fmt.Errorf("read index marks: %s is damaged; without the file the next addresses skip %d: %w", r.path, leap, err)
	}
	for counter, mark := range marks {
		r.marks[counter] = max(mark, r.marks[counter])
	}
	return nil
}

// next is the index to hand out for a counter that stands at index: the same, or
// one further on when what lies between may be used. Its mark is above it, on
// disk, when next returns.
func (r *reserve) next(counter string, index int64) (int64, error) {
	if r.path == "" {
		return index, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return 0, ErrClosed
	}
	mark, known := r.marks[counter]
	if known && index < mark && mark <= index+ahead {
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

// decide is next where the mark must be looked at closely, or raised. Another
// process may have raised it meanwhile.
func (r *reserve) decide(counter string, index int64) (int64, error) {
	if err := r.read(); err != nil {
		return 0, err
	}
	mark, known := r.marks[counter]
	switch {
	case known && mark > index+ahead:
		index = beyond(mark, index)
	case !known && r.lost && index > 0:
		index += leap
	}
	if known && index < mark {
		return index, nil
	}
	return index, r.raise(counter, index)
}

// beyond is the first index that a counter may hand out that is below its mark.
func beyond(mark, index int64) int64 {
	if mark > index+ahead { // more than a crash leaves behind
		return max(index+leap, mark)
	}
	return mark
}

// raise writes the mark of an index, wholly or not at all: further above the index
// when the last time was less than busyInterval ago. The counters of one merchant's
// keys go side by side, so the marks that will need it soon are raised with it: the
// disk is waited for once.
func (r *reserve) raise(counter string, index int64) error {
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

// write puts marks into the file.
func (r *reserve) write(marks map[string]int64) error {
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

// end lets no more indexes be handed out, and returns the counters that have marks.
func (r *reserve) end() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return slices.Sorted(maps.Keys(r.marks))
}

// settle writes the counters as they are, so that the next start finds nothing
// skipped. The caller is alone. A mark that a crash does not explain stays.
func (r *reserve) settle(counters map[string]int64) error {
	return r.locked(func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if err := r.read(); err != nil {
			return err
		}
		marks := maps.Clone(r.marks)
		for counter, next := range counters {
			if mark, known := marks[counter]; known && mark <= next+ahead {
				marks[counter] = next
			}
		}
		if maps.Equal(marks, r.marks) {
			return nil
		}
		return r.write(marks)
	})
}
