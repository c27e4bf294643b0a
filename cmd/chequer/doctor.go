package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"chequer/internal/config"
	"chequer/internal/datadir"
	"chequer/internal/doctor"
)

// errFaultsFound means that the doctor found a fault that prevents payments.
var errFaultsFound = errors.New("a fault above must be mended before shoppers can pay")

// doctor returns the command that reports what works and what is missing.
func (s *shell) doctor() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Report what works, what is missing and how to repair it",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := s.load()
			if err != nil {
				return err
			}
			findings, err := s.examine(c, cfg)
			if err != nil {
				return err
			}
			err = s.print(c, findings, func(w io.Writer) {
				for _, f := range findings {
					fmt.Fprintf(w, "%-5s %s: %s\n", f.Level, f.About, f.Says)
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
// there is no shop, it is an error.
func (s *shell) examine(c *cobra.Command, cfg config.Config) ([]doctor.Finding, error) {
	core, err := s.open(c, cfg)
	if errors.Is(err, datadir.ErrNoShop) {
		return nil, err
	}
	if err != nil {
		return doctor.ExamineUnopened(cfg, err), nil
	}
	defer core.Close()
	return core.Examine(c.Context(), cfg)
}
