// Package logtest provides a log that tests can read while it is written.
package logtest

import (
	"strings"
	"sync"
)

// Journal stores the written log lines. Its zero value is empty. It is safe for
// concurrent use.
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

// Contains reports whether the log contains a text.
func (j *Journal) Contains(text string) bool { return strings.Contains(j.String(), text) }

// String returns the whole log.
func (j *Journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}
