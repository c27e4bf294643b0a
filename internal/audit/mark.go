package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"chequer/internal/durable"
	"chequer/internal/filelock"
)

// Mark stores the newest known head of the log in a file outside the database, so that the removal of
// entries from the end of the log is detected. It is safe for concurrent use, also by several processes.
type Mark struct {
	path string // "" = no mark is stored
	mu   sync.Mutex
}

// NewMark returns the mark of a file, which may be absent. An empty path stores no mark.
func NewMark(path string) *Mark { return &Mark{path: path} }

// Head returns the stored head, or the zero Head if there is none.
func (m *Mark) Head() (head Head, err error) {
	if m.path == "" {
		return head, nil
	}
	text, err := os.ReadFile(m.path)
	if errors.Is(err, fs.ErrNotExist) {
		return head, nil
	}
	if err != nil {
		return head, fmt.Errorf("read mark of audit log: %w", err)
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return head, fmt.Errorf("read mark of audit log: %s is damaged: %w", m.path, err)
	}
	return head, nil
}

// Raise stores a head unless a later one is stored. If the log does not contain the stored head, it returns
// a *BrokenError and stores nothing: entries were removed, and new entries have their numbers. contains
// reports whether the log contains a head.
func (m *Mark) Raise(head Head, contains func(Head) (bool, error)) error {
	return m.locked(func() error {
		stored, err := m.Head()
		if err != nil || stored.Number >= head.Number {
			return err
		}
		if stored.Number > 0 {
			found, err := contains(stored)
			if err != nil {
				return err
			}
			if !found {
				return &BrokenError{stored.Number, replaced}
			}
		}
		return m.write(head)
	})
}

// Reset stores a head even if a later one is stored, as after a backup was restored.
func (m *Mark) Reset(head Head) error { return m.locked(func() error { return m.write(head) }) }

func (m *Mark) write(head Head) error {
	text, err := json.Marshal(head)
	if err == nil {
		err = durable.Replace(m.path, text)
	}
	if err != nil {
		return fmt.Errorf("write mark of audit log: %w", err)
	}
	return nil
}

// locked runs do while no other process changes the mark.
func (m *Mark) locked(do func() error) error {
	if m.path == "" {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	lock := filelock.New(m.path + ".lock")
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("lock mark of audit log: %w", err)
	}
	defer func() { _ = lock.Unlock() }() // an error loses nothing, since the file has no content
	return do()
}
