package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"chequer/internal/app"
	"chequer/internal/config"
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
				if f.Level == app.LevelFail {
					return errors.Join(err, errUnwell)
				}
			}
			return err
		},
	}
}

// examine returns the doctor's findings. A storage that does not open is one of them,
// but an error if there is no shop.
func (s *shell) examine(c *cobra.Command, cfg config.Config) ([]app.Finding, error) {
	core, err := s.open(c, cfg)
	if errors.Is(err, app.ErrNoShop) {
		return nil, err
	}
	if err != nil {
		return app.ExamineUnopened(cfg, err), nil
	}
	defer core.Close()
	return core.Examine(c.Context(), cfg)
}
