package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"chequer/internal/config"
)

// config returns the command that shows the current settings.
func (s *shell) config() *cobra.Command {
	return &cobra.Command{
		Use:   "config",
		Short: "Show the settings in force and where each was set, without their secrets",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := s.load()
			if err != nil {
				return err
			}
			settings := cfg.Settings()
			return s.print(c, settings, func(w io.Writer) {
				if cfg.Config != "" {
					fmt.Fprintf(w, "Settings file: %s\n\n", printable(cfg.Config))
				}
				table(w, "SETTING\tVALUE\tFROM\tMEANING", settings, func(row config.Setting) []any {
					return []any{row.Name, row.Value, row.Source, row.About}
				})
			})
		},
	}
}
