package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"chequer/internal/readiness"
)

// errNotReady means that the server does not answer or cannot store invoices.
var errNotReady = errors.New("the server is not ready")

// health returns the command for a container's health check. It opens no database and needs no
// master key.
func (s *shell) health() *cobra.Command {
	return &cobra.Command{
		Use:   "health",
		Short: "Ask the running server whether it is ready; exits with 1 if it is not",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := s.load()
			if err != nil {
				return err
			}
			if err := readiness.Check(c.Context(), cfg); err != nil {
				return fmt.Errorf("%w: %w", errNotReady, err)
			}
			fmt.Fprintln(c.OutOrStdout(), "ready")
			return nil
		},
	}
}
