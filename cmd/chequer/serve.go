package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"chequer/internal/app"
)

// serve returns the command that runs the server.
func (s *shell) serve() *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Serve the API and the payment pages (the default)",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := s.loadServer()
			if err != nil {
				return err
			}
			a, err := app.New(c.Context(), cfg, app.Options{Log: newLogger(cfg)})
			if err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "Chequer listens on http://%s, its public address is %s\n", a.Addr(), cfg.BaseURL)
			return runUntilDone(c.Context(), a)
		},
	}
}

// runner is a program that runs until its context ends.
type runner interface {
	Run(ctx context.Context) error
	Close() error
}

// stopTimeout bounds the time for a program to stop and to close. Container runtimes kill it after
// 10 seconds.
const stopTimeout = 4800 * time.Millisecond

// errStopTimeout means that the program was ended while work was in progress, as by a crash.
// Everything that was acknowledged is stored.
var errStopTimeout = errors.New("not everything ended in time, as when the database does not answer")

// runUntilDone runs the program until the context ends, and then closes it. It returns
// errStopTimeout if that takes longer than stopTimeout.
func runUntilDone(ctx context.Context, a runner) error {
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(a.Run(ctx), a.Close()) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(stopTimeout):
		return errStopTimeout
	}
}
