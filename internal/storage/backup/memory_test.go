package backup_test

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"chequer/internal/storage/backup"
)

// TestBackup_memory_does_not_grow_with_the_tables must not run in parallel with other tests, since
// it measures the memory of the whole process.
func TestBackup_memory_does_not_grow_with_the_tables(t *testing.T) {
	if testing.Short() {
		t.Skip("writes some 100 MB")
	}
	const rowCount, bound = 50_000, 16 << 20
	for name, newURL := range engines {
		t.Run(name, func(t *testing.T) {
			url := newURL(t)
			s := open(t, url)
			addMerchants(t, s)
			create(t, s, creation("a", "shop"))
			execSQL(t, url, `
				WITH RECURSIVE n (i) AS (SELECT CAST(2 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < $1)
				INSERT INTO events (merchant_id, position, id, invoice_id, type, version, created_at, body)
				SELECT merchant_id, i, id, invoice_id, type, version, created_at, $2 FROM events, n WHERE position = 1`,
				int64(rowCount), strings.Repeat("x", 1000))
			path := filepath.Join(t.TempDir(), "backup")
			file, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()

			var heap peak
			heap.begin()
			m, err := backup.Write(t.Context(), url, masterKey(1), noon, writerFunc(func(p []byte) (int, error) {
				heap.measure(len(p))
				return file.Write(p)
			}))
			if err != nil || m.Rows["events"] != rowCount || heap.total < rowCount*1000 {
				t.Fatalf("got %+v in %d bytes, error %v", m, heap.total, err)
			}
			if heap.highest > bound {
				t.Errorf("the backup of %d MB took %d MB of memory", heap.total>>20, heap.highest>>20)
			}

			if _, err := file.Seek(0, io.SeekStart); err != nil {
				t.Fatal(err)
			}
			heap.begin()
			_, err = backup.Restore(t.Context(), newURL(t), readerFunc(func(p []byte) (int, error) {
				n, err := file.Read(p)
				heap.measure(n)
				return n, err
			}), backup.RestoreOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if heap.highest > bound {
				t.Errorf("restoring %d MB took %d MB of memory", heap.total>>20, heap.highest>>20)
			}
		})
	}
}

// peak measures the largest growth of the heap, sampled once for each megabyte that is written or read.
type peak struct {
	before, highest, total, measuredAt int64
}

func (p *peak) begin() { *p = peak{before: heapInUse()} }

func (p *peak) measure(bytes int) {
	if p.total += int64(bytes); p.total-p.measuredAt >= 1<<20 {
		p.measuredAt = p.total
		p.highest = max(p.highest, heapInUse()-p.before)
	}
}

func heapInUse() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
