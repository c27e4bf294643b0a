package storage

import (
	"context"
	"sync"
	"time"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

// progressTTL is the time for which progress that was read is cached. Networks are scanned every few
// seconds, so the stored progress is already older than that.
const progressTTL = 100 * time.Millisecond

// recent caches the progress that was read last.
type recent struct {
	mu       sync.Mutex
	saves    int64 // number of saves by this process
	progress map[chain.ID]invoice.Progress
	read     time.Time // start of that read; zero = nothing is cached
}

// RecentProgress implements invoice.Storage.
func (s *Storage) RecentProgress(ctx context.Context) (map[chain.ID]invoice.Progress, error) {
	now := time.Now()
	s.recent.mu.Lock()
	progress, read, saves := s.recent.progress, s.recent.read, s.recent.saves
	s.recent.mu.Unlock()
	if age := now.Sub(read); age >= 0 && age < progressTTL {
		return progress, nil
	}
	progress, err := s.Progress(ctx)
	if err != nil {
		return nil, err
	}
	s.recent.mu.Lock()
	defer s.recent.mu.Unlock()
	if s.recent.saves == saves {
		s.recent.progress, s.recent.read = progress, now
	}
	return progress, nil
}

// forget clears the cache after progress was saved.
func (r *recent) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.saves++
	r.read = time.Time{}
}
