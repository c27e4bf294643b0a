package storage_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkWriter measures commits per second: of one caller, of 32 callers whose transactions share
// commits, and of 32 callers that commit individually with plain database/sql.
func BenchmarkWriter(b *testing.B) {
	for _, callers := range []int{1, 32} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			s := open(b, filepath.Join(b.TempDir(), "chequer.db"))
			commits(b, callers, func(n int64) error {
				_, err := s.UseNonce(b.Context(), "key", fmt.Sprint(n), noon, time.Minute)
				return err
			})
		})
	}
	b.Run("callers=32/one_by_one", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "chequer.db")
		open(b, path)
		db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)&_pragma=synchronous(FULL)&_txlock=immediate")
		if err != nil {
			b.Fatal(err)
		}
		defer db.Close()
		db.SetMaxOpenConns(1)
		commits(b, 32, func(n int64) error {
			_, err := db.ExecContext(b.Context(), "INSERT INTO nonces (key, nonce, expires_at) VALUES ('key', $1, 1)", fmt.Sprint(n))
			return err
		})
	})
}

// BenchmarkCreateInvoice measures whole creations per second.
func BenchmarkCreateInvoice(b *testing.B) {
	for name, newURL := range engines {
		for _, callers := range []int{1, 32} {
			b.Run(fmt.Sprintf("%s/callers=%d", name, callers), func(b *testing.B) {
				s := open(b, newURL(b))
				addMerchants(b, s)
				commits(b, callers, func(n int64) error {
					_, _, err := s.CreateInvoice(b.Context(), creation(fmt.Sprint("i", n), "shop"))
					return err
				})
			})
		}
	}
}

// BenchmarkInvoice measures reads of one invoice per second.
func BenchmarkInvoice(b *testing.B) {
	for name, newURL := range engines {
		b.Run(name, func(b *testing.B) {
			s := open(b, newURL(b))
			addMerchants(b, s)
			create(b, s, creation("a", "shop"))
			commits(b, 4, func(int64) error {
				_, err := s.Invoice(b.Context(), "a")
				return err
			})
		})
	}
}

// commits lets concurrent callers commit b.N times in total.
func commits(b *testing.B, callers int, commit func(n int64) error) {
	b.Helper()
	b.ResetTimer()
	var commits atomic.Int64
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			for n := commits.Add(1); n <= int64(b.N); n = commits.Add(1) {
				if err := commit(n); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "per_second")
}
