package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"chequer/internal/app"
	"chequer/internal/config"
	"chequer/internal/console"
	"chequer/internal/requestlog"
)

// config returns the command that shows the current settings.
func (s *shell) config() *cobra.Command {
	return &cobra.Command{
		Use:   "config",
		Short: "Show the effective settings and where each was set, without their secrets",
		Args:  console.Arguments,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := s.load()
			if err != nil {
				return err
			}
			settings := cfg.Settings()
			return s.Print(c, settings, func(w io.Writer) {
				if path := cfg.ReadFile(); path != "" {
					fmt.Fprintf(w, "Settings file: %s\n\n", console.Printable(path))
				}
				console.Table(w, "SETTING\tVALUE\tFROM\tMEANING", settings, func(row config.Setting) []any {
					return []any{row.Name, row.Value, row.Source, row.About}
				})
			})
		},
	}
}

// load reads the settings. The error names every fault. It logs CHEQUER_ variables that are not
// settings as a warning.
func (s *shell) load() (config.Config, error) {
	cfg, err := config.Load(config.WithSystemFile(s.Environ, config.SystemFile))
	s.SetZone(cfg.Location())
	if unknown := cfg.Unknown(); unknown != nil {
		newLogger(cfg).Warn("unknown settings are ignored", "settings", unknown)
	}
	return cfg, errors.Join(err, app.Check(cfg))
}

// loadServer reads the settings of a server. A CHEQUER_ variable that is not a setting is an error,
// because a misspelt setting would have no effect.
func (s *shell) loadServer() (config.Config, error) {
	cfg, err := config.Load(config.WithSystemFile(s.Environ, config.SystemFile))
	return cfg, errors.Join(err, cfg.Unknown(), app.Check(cfg))
}

// newLogger returns a logger that writes to standard error, so that standard output has only
// results.
func newLogger(cfg config.Config) *slog.Logger {
	options := &slog.HandlerOptions{Level: cfg.Log.Level}
	if cfg.Log.JSON {
		return slog.New(requestlog.Handler(slog.NewJSONHandler(os.Stderr, options)))
	}
	return slog.New(requestlog.Handler(slog.NewTextHandler(os.Stderr, options)))
}
