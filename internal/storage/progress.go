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

// progressCache caches the progress that was read last.
type progressCache struct {
	mu       sync.Mutex
	saves    int64 // number of saves by this process
	progress map[chain.ID]invoice.Progress
	readAt   time.Time // start of the last read; zero = nothing is cached
}

// RecentProgress implements invoice.Storage.
func (s *Storage) RecentProgress(ctx context.Context) (map[chain.ID]invoice.Progress, error) {
	now := time.Now()
	s.progressCache.mu.Lock()
	progress, readAt, saves := s.progressCache.progress, s.progressCache.readAt, s.progressCache.saves
	s.progressCache.mu.Unlock()
	if age := now.Sub(readAt); age >= 0 && age < progressTTL {
		return progress, nil
	}
	progress, err := s.Progress(ctx)
	if err != nil {
		return nil, err
	}
	s.progressCache.mu.Lock()
	defer s.progressCache.mu.Unlock()
	if s.progressCache.saves == saves { // no progress was saved during the read
		s.progressCache.progress, s.progressCache.readAt = progress, now
	}
	return progress, nil
}

// invalidate clears the cache after progress was saved.
func (c *progressCache) invalidate() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.saves++
	c.readAt = time.Time{}
}
