package app

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"chequer/internal/chain"
	"chequer/internal/config"
	"chequer/internal/keys"
)

// ExamineFiats is examineFiats.
var ExamineFiats = examineFiats

// LimitLog is limit.
var LimitLog = limit

// AskServer queries the running server as the operator's commands do.
func AskServer(ctx context.Context, core *Core, c config.Config) []NetworkHealth {
	found, _ := core.askServer(ctx, c)
	return found.Networks
}

// EVMNetworks returns the EVM networks of the settings.
func EVMNetworks(c config.Config) ([]chain.Network, error) {
	all, err := evmNetworks(c, time.Now, slog.New(slog.DiscardHandler))
	return networksOf(all), err
}

// ExamineEVM returns the doctor's findings about the parts of an EVM network.
func ExamineEVM(ctx context.Context, c config.Config, network chain.ID) ([]Finding, error) {
	all, err := evmNetworks(c, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	for _, l := range all {
		if l.ID() == network {
			return probeDetails(ctx, l)
		}
	}
	return nil, nil
}

// HoldingsAt returns the holdings of the first address of a key on an EVM network.
func HoldingsAt(ctx context.Context, c config.Config, network chain.ID, key string) ([]Holding, error) {
	e, _, err := watchedEVM(c, network)
	if err != nil {
		return nil, err
	}
	loaded, err := keys.Load(key)
	if err != nil {
		return nil, err
	}
	best, err := e.quorum.Best(ctx)
	if err != nil {
		return nil, err
	}
	return e.holdings(ctx, best.Header, loaded, 0, 1)
}

// ExamineAddress returns the doctor's findings about the public address of a configuration whose
// server runs.
func ExamineAddress(ctx context.Context, core *Core, c config.Config) []string {
	var got findingLines
	core.examineAddress(ctx, c, true, got.say)
	return got
}

// ExamineClocks returns the doctor's findings about clocks.
func ExamineClocks(ctx context.Context, core *Core) (found []Finding, err error) {
	err = core.examineClocks(ctx, func(level Level, about, format string, args ...any) {
		found = append(found, Finding{Level: level, About: about, Says: fmt.Sprintf(format, args...)})
	})
	return found, err
}
