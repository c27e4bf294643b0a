package storagetest

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/storage/backup"
)

// BackUp makes a backup of a database that uses the first master key.
func BackUp(t testing.TB, url string) ([]byte, backup.Manifest) {
	t.Helper()
	var stream bytes.Buffer
	m, err := backup.Write(t.Context(), url, MasterKey(1), Noon, &stream)
	if err != nil {
		t.Fatal(err)
	}
	checked, master, err := backup.Check(bytes.NewReader(stream.Bytes()))
	if err != nil || !cmp.Equal(checked, m) || !bytes.Equal(master, MasterKey(1)) {
		t.Fatalf("check: got %+v with key %x, error %v, want %+v", checked, master, err, m)
	}
	return stream.Bytes(), m
}

// Restore restores a backup. It fails the test if the backup is refused.
func Restore(t testing.TB, url string, stream []byte, o backup.RestoreOptions) backup.Restored {
	t.Helper()
	restored, err := backup.Restore(t.Context(), url, bytes.NewReader(stream), o)
	if err != nil {
		t.Fatal(err)
	}
	return restored
}
