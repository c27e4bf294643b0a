package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"chequer/internal/app"
)

// demo is the command that a newcomer starts with.
func (s *shell) demo() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Try it: a demo shop with made-up rates and money, no account and no network",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := s.load()
			if err != nil {
				return err
			}
			a, err := app.New(c.Context(), cfg, app.Options{Demo: true, Log: logger()})
			if err != nil {
				return err
			}
			out := c.OutOrStdout()
			fmt.Fprintf(out, "\n  Chequer demo: no real money, made-up rates.\n\n  Open     http://%s\n  Test key %s\n  Secret   %s\n\n  Ctrl-C stops it; everything is kept in %s.\n\n",
				a.Addr(), a.DemoKey().Key, a.DemoKey().Secret, cfg.DataDir)
			return runUntilDone(c.Context(), a)
		},
	}
}
