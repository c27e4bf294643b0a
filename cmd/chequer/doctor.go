package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"chequer/internal/app"
)

// errUnwell means that the doctor found something that stops payments.
var errUnwell = errors.New("something above must be mended before shoppers can pay")

// doctor is the command that says what is missing.
func (s *shell) doctor() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what works, what is missing and what to do about it",
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
					return errors.Join(err, errUnwell)
				}
			}
			return err
		},
	}
}
