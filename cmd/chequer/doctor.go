package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"chequer/internal/config"
	"chequer/internal/console"
	"chequer/internal/datadir"
	"chequer/internal/doctor"
	"chequer/internal/readiness"
)

// errFaultsFound means that the doctor found a fault that prevents payments.
var errFaultsFound = errors.New("a fault above must be repaired before shoppers can pay")

// doctor returns the command that reports what works and what is missing.
func (s *shell) doctor() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Report what works, what is missing and how to repair it",
		Args:  console.Arguments,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := s.load()
			if err != nil {
				return err
			}
			findings, err := s.examine(c, cfg)
			if err != nil {
				return err
			}
			err = s.Print(c, findings, func(w io.Writer) {
				for _, f := range findings {
					fmt.Fprintf(w, "%-5s %s: %s\n", f.Level, f.About, f.Message)
				}
			})
			for _, f := range findings {
				if f.Level == doctor.LevelFail {
					return errors.Join(err, errFaultsFound)
				}
			}
			return err
		},
	}
}

// examine returns the doctor's findings. If the storage cannot be opened, that is a finding; if
// there is no database, it is an error.
func (s *shell) examine(c *cobra.Command, cfg config.Config) ([]doctor.Finding, error) {
	core, err := s.open(c, cfg)
	if errors.Is(err, datadir.ErrNoDatabase) {
		return nil, err
	}
	if err != nil {
		return doctor.ExamineUnopened(cfg, err), nil
	}
	defer core.Close()
	shops, err := core.Shops(c.Context(), cfg)
	if err != nil {
		return nil, err
	}
	return core.Examine(c.Context(), cfg, shops...)
}

// errNotReady means that the server does not answer or cannot store invoices.
var errNotReady = errors.New("the server is not ready")

// health returns the command for a container's health check. It opens no database and needs no
// master key.
func (s *shell) health() *cobra.Command {
	return &cobra.Command{
		Use:   "health",
		Short: "Ask the running server whether it is ready; exits with 1 if it is not",
		Args:  console.Arguments,
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
