package engine_test

import (
	"os"
	"testing"

	"chequer/internal/storage/engine"
)

// The tables that a backup is compared with are made in memory: no file may appear in the working
// directory.
func TestMemorySchema_makes_no_file(t *testing.T) {
	t.Chdir(t.TempDir())
	db, err := engine.MemorySchema(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	entries, err := os.ReadDir(".")
	if err != nil || len(entries) != 0 {
		t.Errorf("the working directory has %v, error %v; want nothing", entries, err)
	}
}
