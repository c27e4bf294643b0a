package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// proofTTL is the time for which a proof that the database accepts writes is cached.
const proofTTL = 3 * time.Second

// proofTimeout limits the time of a proof.
const proofTimeout = 2 * time.Second

// writeProof is the last proof that the database accepts writes.
type writeProof struct {
	mu       sync.Mutex
	ttl      time.Duration
	provenAt time.Time
	err      error
	running  chan struct{} // closed when the running proof is complete
}

// Ready proves with a write that data can be stored. The result is cached, so that Ready writes at most
// once every few seconds. The error is the reason why data cannot be stored.
func (e *Engine) Ready(ctx context.Context) error {
	e.proof.mu.Lock()
	if time.Since(e.proof.provenAt) < e.proof.ttl {
		defer e.proof.mu.Unlock()
		return e.proof.err
	}
	running := e.proof.running
	if running == nil {
		running = make(chan struct{})
		e.proof.running = running
		go e.proveWritable(context.WithoutCancel(ctx), running)
	}
	e.proof.mu.Unlock()
	select {
	case <-running:
	case <-ctx.Done():
		return ctx.Err()
	}
	e.proof.mu.Lock()
	defer e.proof.mu.Unlock()
	return e.proof.err
}

// proveWritable makes a new proof.
func (e *Engine) proveWritable(ctx context.Context, done chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, proofTimeout)
	defer cancel()
	err := e.proveWrite(ctx)
	if err != nil && !errors.Is(err, e.options.Unavailable) { // Unavailable is logged where it occurs
		e.log.Error("not ready", "error", err)
	}
	e.proof.mu.Lock()
	e.proof.provenAt, e.proof.err, e.proof.running = time.Now(), err, nil
	e.proof.mu.Unlock()
	close(done)
}

// proveWrite checks the place of the database's file, writes to the database, and calls Options.Prove.
func (e *Engine) proveWrite(ctx context.Context) error {
	err := e.Write(ctx, func(ctx context.Context, q Querier) error {
		_, err := q.ExecContext(ctx, `
			INSERT INTO meta (name, value) VALUES ('ready_at', $1)
			ON CONFLICT (name) DO UPDATE SET value = excluded.value`, time.Now().UTC().Format(time.RFC3339))
		return err
	})
	if err != nil {
		return fmt.Errorf("write to database: %w", err)
	}
	if err := e.database.checkPlace(); err != nil || e.options.Prove == nil {
		return err
	}
	return e.options.Prove()
}
