package storage_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/storage"
)

func TestRecentProgress_is_never_older_than_the_progress_that_this_process_saved(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		epoch := acquireLease(t, s, "bitcoin", "one", noon)
		for sequence := range int64(20) {
			saved := invoice.Progress{Tip: chain.Cursor{Height: sequence, Hash: "00aa"}, Scanned: noon, Sequence: sequence + 1}
			if _, err := s.RecentProgress(t.Context()); err != nil { // is cached
				t.Fatal(err)
			}
			if err := s.SaveProgress(t.Context(), invoice.Lease{Network: "bitcoin", Epoch: epoch, Sequence: sequence + 1}, saved); err != nil {
				t.Fatal(err)
			}
			got, err := s.RecentProgress(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[chain.ID]invoice.Progress{"bitcoin": saved}, got); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
		}
	})
}
