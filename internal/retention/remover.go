package retention

import (
	"chequer/internal/clock"
	"context"
	"errors"
	"log/slog"
	"time"
)

// Remover removes personal data. It is safe for concurrent use.
type Remover struct {
	Config
}

// Config configures a Remover. All fields are required.
type Config struct {
	Storage Storage
	Now     func() time.Time
	// Every is the interval at which the Remover looks for runs that are due.
	Every time.Duration
	// Pause is the time between two transactions, in which other work gets the database.
	Pause time.Duration
	Log   *slog.Logger
}

// New returns a new Remover.
func New(c Config) *Remover { return &Remover{c} }

// Run removes personal data until the context ends.
func (r *Remover) Run(ctx context.Context) error {
	for {
		if err := r.Remove(ctx); err != nil && ctx.Err() == nil {
			r.Log.ErrorContext(ctx, "personal data not removed", "error", err)
		}
		if !clock.Sleep(ctx, r.Every) {
			return nil
		}
	}
}

// Remove carries out the runs that are due. If one fails, it continues with the next merchant.
func (r *Remover) Remove(ctx context.Context) error {
	merchants, err := r.Storage.RetentionShops(ctx)
	if err != nil {
		return err
	}
	var faults []error
	for _, id := range merchants {
		faults = append(faults, r.remove(ctx, id))
	}
	return errors.Join(faults...)
}

// remove carries out the run of a merchant.
func (r *Remover) remove(ctx context.Context, merchantID string) error {
	for {
		done, err := r.Storage.RemovePersonalData(ctx, merchantID, r.Now())
		if err != nil || done {
			return err
		}
		if !clock.Sleep(ctx, r.Pause) {
			return ctx.Err()
		}
	}
}
