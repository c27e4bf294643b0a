// Package logtest gives tests a log that is looked into while it is written.
package logtest

import (
	"strings"
	"sync"
)

// Journal keeps what is written to it. It is safe for concurrent use; its zero
// value is empty.
type Journal struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (j *Journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(line)
}

// Says reports whether the log contains a text.
func (j *Journal) Says(words string) bool { return strings.Contains(j.String(), words) }

// String is the whole log.
func (j *Journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}
