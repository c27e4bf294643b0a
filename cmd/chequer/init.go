package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"chequer/internal/app"
)

// init returns the command that creates a shop without serving it.
func (s *shell) init() *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Create the database and the master key, so that other commands find a shop",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := s.loadServer()
			if err != nil {
				return err
			}
			core, err := app.OpenCore(c.Context(), cfg, app.Options{Log: newLogger(cfg)})
			if err != nil {
				return err
			}
			defer core.Close()
			shop, err := core.Shop(c.Context(), cfg, app.Options{})
			if err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "%q is ready; its data is in %s\n", shop.Name, cfg.DataDir)
			return nil
		},
	}
}
