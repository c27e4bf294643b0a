package backup_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"chequer/internal/storage/backup"
)

// The environment variables of the child process of this test binary: the URL of the database to
// restore into, the file of the backup, and the byte to stop at.
const (
	restoreURL  = "CHEQUER_RESTORE_CHILD"
	restoreFile = restoreURL + "_FILE"
	restoreStop = restoreURL + "_STOP"
)

func writeFile(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestRestoreChild is the child process. It stops at the given byte, reports that, and waits until it is
// killed.
func TestRestoreChild(t *testing.T) {
	if os.Getenv(restoreURL) == "" {
		t.Skip("runs as a child of TestRestore_leaves_no_rows_when_it_is_killed")
	}
	stream, err := os.Open(os.Getenv(restoreFile))
	if err != nil {
		t.Fatal(err)
	}
	var stop int64
	if _, err := fmt.Sscan(os.Getenv(restoreStop), &stop); err != nil {
		t.Fatal(err)
	}
	hangForever := func() error {
		fmt.Println("\nstopped")
		select {}
	}
	r := io.MultiReader(io.LimitReader(stream, stop), readerFunc(func([]byte) (int, error) { return 0, hangForever() }))
	_, err = backup.Restore(t.Context(), os.Getenv(restoreURL), r, backup.RestoreOptions{BeforeCommit: hangForever})
	t.Fatal(err)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestRestore_leaves_no_rows_when_it_is_killed(t *testing.T) {
	t.Parallel()
	source := engines["sqlite"](t)
	s := open(t, source)
	addMerchants(t, s)
	for i := range 300 {
		create(t, s, creation(fmt.Sprint("i", i), "shop"))
	}
	stream, _ := backUp(t, source)
	file := filepath.Join(t.TempDir(), "backup")
	writeFile(t, file, string(stream))
	for name, newURL := range engines {
		for moment, stop := range map[string]int{
			"at the first rows": 600, "in the middle": len(stream) / 2, "near the end": len(stream) - 10, "before the commit": len(stream),
		} {
			t.Run(name+" "+moment, func(t *testing.T) {
				t.Parallel()
				url := newURL(t)
				restoreUntilKilled(t, url, file, stop)
				for _, table := range []string{"invoices", "events", "counters", "merchants"} {
					if remaining := dumpTable(t, url, table); len(remaining) > 0 {
						t.Errorf("%d rows of %s remain", len(remaining), table)
					}
				}
				if err := backup.CheckEmpty(t.Context(), url); err != nil {
					t.Errorf("a second attempt is refused: %v", err)
				}
				restore(t, url, stream, backup.RestoreOptions{})
				checkConsistent(t, url)
			})
		}
	}
}

// restoreUntilKilled runs a child process until it stops, and kills it.
func restoreUntilKilled(t *testing.T, url, file string, stop int) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRestoreChild$", "-test.v")
	child.Env = append(os.Environ(), restoreURL+"="+url, restoreFile+"="+file, fmt.Sprintf("%s=%d", restoreStop, stop))
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var printed bytes.Buffer
	stopped := false
	for scanner := bufio.NewScanner(io.TeeReader(out, &printed)); scanner.Scan(); {
		if scanner.Text() == "stopped" {
			stopped = true
			if err := child.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	_ = child.Wait() // it was killed
	if !stopped {
		t.Fatalf("the child process ended before it was killed: %s", printed.String())
	}
}
