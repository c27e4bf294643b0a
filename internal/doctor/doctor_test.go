package doctor

import (
	"bytes"
	"fmt"
	"testing"

	"chequer/internal/seal"
	"chequer/internal/storage"
)

// lines returns the findings as lines of text.
func (e *examination) lines() (lines []string) {
	for _, f := range e.found {
		lines = append(lines, fmt.Sprintf("%s %s: %s", f.Level, f.About, f.Message))
	}
	return lines
}

// open opens a database.
func open(t *testing.T, database string) *storage.Storage {
	t.Helper()
	box, err := seal.New(bytes.Repeat([]byte{7}, seal.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	s, err := storage.Open(t.Context(), database, box, storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
