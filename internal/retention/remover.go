package retention

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"chequer/internal/clock"
)

// Remover removes personal data and old invoices. It is safe for concurrent use.
type Remover struct {
	Config
}

// Config configures a Remover. All fields but PluginDays are required.
type Config struct {
	Storage Storage
	Now     func() time.Time
	// Every is the interval at which the Remover looks for runs that are due.
	Every time.Duration
	// Pause is the time between two transactions, in which other work gets the database.
	Pause time.Duration
	// PluginDays is the retention period of the metadata of shop plug-ins, in days; 0 keeps them.
	PluginDays int
	Log        *slog.Logger
}

// New returns a new Remover.
func New(c Config) *Remover { return &Remover{c} }

// Run carries out due runs until the context ends.
func (r *Remover) Run(ctx context.Context) error {
	for {
		if err := r.Remove(ctx); err != nil && ctx.Err() == nil {
			r.Log.ErrorContext(ctx, "personal data or books not removed", "error", err)
		}
		if !clock.Sleep(ctx, r.Every) {
			return nil
		}
	}
}

// Remove carries out the runs that are due. If one fails, it continues with the next merchant.
func (r *Remover) Remove(ctx context.Context) error {
	return errors.Join(
		r.removePluginMetadata(ctx),
		r.removeOf(ctx, r.Storage.RetentionShops, r.Storage.RemovePersonalData),
		r.removeOf(ctx, r.Storage.BookShops, r.Storage.RemoveBooks))
}

// removeOf carries out the runs of the merchants that shops returns. A call of step carries out a part of a run, and reports
// whether the run is complete.
func (r *Remover) removeOf(ctx context.Context, shops func(context.Context) ([]string, error), step func(context.Context, string, time.Time) (bool, error)) error {
	merchants, err := shops(ctx)
	if err != nil {
		return err
	}
	var faults []error
	for _, id := range merchants {
		faults = append(faults, r.complete(ctx, func() (bool, error) { return step(ctx, id, r.Now()) }))
	}
	return errors.Join(faults...)
}

// removePluginMetadata removes the metadata of shop plug-ins whose period has ended.
func (r *Remover) removePluginMetadata(ctx context.Context) error {
	if r.PluginDays == 0 {
		return nil
	}
	return r.complete(ctx, func() (bool, error) { return r.Storage.RemovePluginMetadata(ctx, r.PluginDays, r.Now()) })
}

// complete calls step, with pauses, until it reports that a run is complete.
func (r *Remover) complete(ctx context.Context, step func() (done bool, err error)) error {
	for {
		done, err := step()
		if err != nil || done {
			return err
		}
		if !clock.Sleep(ctx, r.Pause) {
			return ctx.Err()
		}
	}
}
