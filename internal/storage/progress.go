package storage

import (
	"context"
	"sync"
	"time"

	"chequer/internal/chain"
	"chequer/internal/invoice"
)

// recentFor is how long progress that was read is believed. Networks are scanned
// every few seconds, so that what is written down is behind them by more.
const recentFor = 100 * time.Millisecond

// recent is the progress read last.
type recent struct {
	mu       sync.Mutex
	saves    int64 // by this process
	progress map[chain.ID]invoice.Progress
	read     time.Time // when that began; zero = nothing is remembered
}

// RecentProgress implements invoice.Storage.
func (s *Storage) RecentProgress(ctx context.Context) (map[chain.ID]invoice.Progress, error) {
	now := time.Now()
	s.recent.mu.Lock()
	progress, read, saves := s.recent.progress, s.recent.read, s.recent.saves
	s.recent.mu.Unlock()
	if age := now.Sub(read); age >= 0 && age < recentFor {
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

// forget makes the next one who asks read again, after progress was saved.
func (r *recent) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.saves++
	r.read = time.Time{}
}
