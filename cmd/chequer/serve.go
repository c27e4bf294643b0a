package main

import (
	"context"
	"errors"
	"fmt"

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

// runUntilDone runs the server until the context ends, and then closes it.
func runUntilDone(ctx context.Context, a *app.App) error {
	return errors.Join(a.Run(ctx), a.Close())
}
