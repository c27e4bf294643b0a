package report

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// FillStorage computes sums of days and received sums in parts. It is safe for concurrent use, also by several processes.
type FillStorage interface {
	// UnfilledSums returns the merchants whose sums are being computed.
	UnfilledSums(ctx context.Context) ([]string, error)
	// SumsRestarted returns a channel that receives a hint after this process began to compute sums again. It has one
	// receiver.
	SumsRestarted() <-chan struct{}
	// FillSums computes the next part of a merchant's sums, and reports whether all sums are computed.
	FillSums(ctx context.Context, merchantID string) (done bool, err error)
}

// Filler computes the sums of days after a change of the time zone of a merchant, and all sums after an upgrade that adds
// them. It is safe for concurrent use.
type Filler struct {
	storage  FillStorage
	interval time.Duration
	log      *slog.Logger
}

// NewFiller returns a new Filler that looks for work of other processes at an interval.
func NewFiller(storage FillStorage, interval time.Duration, log *slog.Logger) *Filler {
	return &Filler{storage, interval, log}
}

// Run computes sums until the context ends.
func (f *Filler) Run(ctx context.Context) error {
	tick := time.NewTicker(f.interval)
	defer tick.Stop()
	for {
		if err := f.Fill(ctx); err != nil && ctx.Err() == nil {
			f.log.ErrorContext(ctx, "cannot compute sums", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-f.storage.SumsRestarted():
		}
	}
}

// Fill computes all sums that are not computed. If those of a merchant cannot be computed, it continues with the next.
func (f *Filler) Fill(ctx context.Context) error {
	merchants, err := f.storage.UnfilledSums(ctx)
	if err != nil {
		return err
	}
	var faults []error
	for _, id := range merchants {
		if err := Complete(ctx, f.storage, id); err != nil {
			faults = append(faults, err)
			continue
		}
		f.log.InfoContext(ctx, "sums computed", "merchant", id)
	}
	return errors.Join(faults...)
}

// Complete computes all sums of a merchant that are not computed.
func Complete(ctx context.Context, s FillStorage, merchantID string) error {
	for {
		if done, err := s.FillSums(ctx, merchantID); done || err != nil {
			return err
		}
	}
}
