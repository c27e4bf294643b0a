package storage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"chequer/internal/invoice"
)

// proofTTL is the time for which a proof that the database accepts writes is cached.
const proofTTL = 3 * time.Second

// proofTimeout limits the time of a proof.
const proofTimeout = 2 * time.Second

// writeProof is the last proof that the database accepts writes.
type writeProof struct {
	mu      sync.Mutex
	ttl     time.Duration
	at      time.Time
	err     error
	running chan struct{} // closed when the running proof is complete
}

// Ready proves with a write that invoices can be stored. It writes at most once every few seconds,
// however often it is called. The error is the reason why invoices cannot be stored.
func (s *Storage) Ready(ctx context.Context) error {
	s.proof.mu.Lock()
	if time.Since(s.proof.at) < s.proof.ttl {
		defer s.proof.mu.Unlock()
		return s.proof.err
	}
	running := s.proof.running
	if running == nil {
		running = make(chan struct{})
		s.proof.running = running
		go s.prove(context.WithoutCancel(ctx), running)
	}
	s.proof.mu.Unlock()
	select {
	case <-running:
	case <-ctx.Done():
		return ctx.Err()
	}
	s.proof.mu.Lock()
	defer s.proof.mu.Unlock()
	return s.proof.err
}

// prove makes a new proof.
func (s *Storage) prove(ctx context.Context, done chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, proofTimeout)
	defer cancel()
	err := s.proveWrite(ctx)
	if err != nil && !errors.Is(err, invoice.ErrUnavailable) { // which is logged
		s.log.Error("not ready", "error", err)
	}
	s.proof.mu.Lock()
	s.proof.at, s.proof.err, s.proof.running = time.Now(), err, nil
	s.proof.mu.Unlock()
	close(done)
}

// proveWrite writes to the database, whose file must be in its place, and to the file of index
// marks, which may be on another disk.
func (s *Storage) proveWrite(ctx context.Context) error {
	err := s.write(ctx, func(ctx context.Context, q querier) error {
		_, err := q.ExecContext(ctx, `
			INSERT INTO meta (name, value) VALUES ('ready_at', $1)
			ON CONFLICT (name) DO UPDATE SET value = excluded.value`, time.Now().UTC().Format(time.RFC3339))
		return err
	})
	if err != nil {
		return fmt.Errorf("write to database: %w", err)
	}
	if e, ok := s.engine.(*sqliteEngine); ok {
		if err := e.checkPlace(); err != nil {
			return err
		}
	}
	return s.reserve.prove()
}

// prove writes the marks without a change.
func (r *reserve) prove() error {
	if r.path == "" {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.locked(func() error {
		if err := r.read(); err != nil {
			return err
		}
		return r.write(maps.Clone(r.marks))
	})
}
