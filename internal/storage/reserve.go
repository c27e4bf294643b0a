package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"sync"
	"syscall"

	"chequer/internal/durable"
)

// ahead is how far a mark may be above its counter, as far as that is committed.
const ahead = 100

// raised is how far above an index its mark is put. A commit may hold as many
// indexes as transactions, and a crash undoes all of them but not the marks.
const raised = ahead - maxBatch

// leap is how far a counter jumps when addresses may have been handed out that
// the database does not know of.
const leap = 1000

// reserve remembers, outside the database, how far destination indexes may have
// been used: a mark per counter, raised before the counter passes it. A database
// that was put back from a backup shows itself by a counter far below its mark;
// the indexes in between may belong to invoices that it does not know, so they
// are never handed out again. The file is left out of backups for that reason.
type reserve struct {
	path string // "" = nothing is remembered
	// lost is what a counter without a mark means: on SQLite the file was lost or
	// left behind, on PostgreSQL this machine is new.
	lost bool

	mu    sync.Mutex
	marks map[string]int64
	given map[string]int64 // the last index handed out here, by counter
}

// openReserve reads the file. It need not be there.
func openReserve(path string, d dialect) (*reserve, error) {
	r := &reserve{path: path, lost: d == sqliteDialect, marks: map[string]int64{}, given: map[string]int64{}}
	if path == "" {
		return r, nil
	}
	// That it can be written is found out now, not by the first shopper.
	return r, r.locked(func() error { return r.read() })
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
		index = max(index+leap, mark)
	case !known && r.lost && index > 0:
		index += leap
	}
	if known && index < mark {
		return index, nil
	}
	return index, r.raise(counter, index)
}

// raise writes the mark of an index, wholly or not at all. The counters of one
// merchant's keys go side by side, so the marks that will need it soon are raised
// with it: the disk is waited for once.
func (r *reserve) raise(counter string, index int64) error {
	marks := maps.Clone(r.marks)
	for other, given := range r.given {
		if marks[other] <= given+raised/2 {
			marks[other] = given + raised
		}
	}
	marks[counter] = index + raised
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
