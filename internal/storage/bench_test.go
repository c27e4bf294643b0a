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
			runParallel(b, callers, func(n int64) error {
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
		runParallel(b, 32, func(n int64) error {
			_, err := db.ExecContext(b.Context(), "INSERT INTO nonces (key, nonce, expires_at) VALUES ('key', $1, 1)", fmt.Sprint(n))
			return err
		})
	})
}

// BenchmarkCreateInvoice measures invoice creations per second.
func BenchmarkCreateInvoice(b *testing.B) {
	for name, newURL := range engines {
		for _, callers := range []int{1, 32} {
			b.Run(fmt.Sprintf("%s/callers=%d", name, callers), func(b *testing.B) {
				s := open(b, newURL(b))
				addMerchants(b, s)
				runParallel(b, callers, func(n int64) error {
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
			runParallel(b, 4, func(int64) error {
				_, err := s.Invoice(b.Context(), "a")
				return err
			})
		})
	}
}

// runParallel lets concurrent callers make b.N calls in total, and reports calls per second.
func runParallel(b *testing.B, callers int, call func(n int64) error) {
	b.Helper()
	b.ResetTimer()
	var calls atomic.Int64
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			for n := calls.Add(1); n <= int64(b.N); n = calls.Add(1) {
				if err := call(n); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}
