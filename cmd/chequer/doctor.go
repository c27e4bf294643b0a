package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"chequer/internal/app"
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
			cfg, core, err := s.core(c)
			if err != nil {
				return err
			}
			defer core.Close()
			findings, err := core.Examine(c.Context(), cfg)
			if err != nil {
				return err
			}
			err = s.print(c, findings, func(w io.Writer) {
				for _, f := range findings {
					fmt.Fprintf(w, "%-5s %s: %s\n", f.Level, f.About, f.Says)
				}
			})
			for _, f := range findings {
				if f.Level == app.LevelFail {
					return errors.Join(err, errFaultsFound)
				}
			}
			return err
		},
	}
}
