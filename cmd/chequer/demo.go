package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"chequer/internal/app"
	"chequer/internal/config"
)

// demo returns the command that runs a demo shop.
func (s *shell) demo() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Run a demo shop with example rates and test money; it needs no account and no network",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := s.loadDemo()
			if err != nil {
				return err
			}
			a, err := app.New(c.Context(), cfg, app.Options{Demo: true, Log: newLogger(cfg)})
			if err != nil {
				return err
			}
			out := c.OutOrStdout()
			fmt.Fprintf(out, "\n  Chequer demo: no real money, made-up rates.\n\n  Open     %s\n  Test key %s\n  Secret   %s\n\n  Ctrl-C stops it; its data stays in %s. Other commands find it by %s.\n\n",
				cfg.BaseURL, a.DemoKey().Key, a.DemoKey().Secret, cfg.DataDir, s.demoSettings(cfg))
			return runUntilDone(c.Context(), a)
		},
	}
}

// demoDir is the data directory of the demo. It is separate from that of a real shop, which must
// not contain the demo's keys and name.
const demoDir = "data/demo"

// demoSettings returns the settings with which other commands find a demo. They include the settings of
// the address, if given, because commands print addresses.
func (s *shell) demoSettings(cfg config.Config) string {
	settings := []string{"CHEQUER_DATA_DIR=" + cfg.DataDir}
	for _, pair := range s.environ {
		if name, value, _ := strings.Cut(pair, "="); value != "" && (name == "CHEQUER_LISTEN" || name == "CHEQUER_BASE_URL") {
			settings = append(settings, pair)
		}
	}
	return strings.Join(settings, " ")
}

// loadDemo reads the settings. The data directory is demoDir unless one is given.
func (s *shell) loadDemo() (config.Config, error) {
	given := func(pair string) bool {
		name, value, _ := strings.Cut(pair, "=")
		return strings.HasPrefix(name, "CHEQUER_DATA_DIR") && value != ""
	}
	if !slices.ContainsFunc(s.environ, given) {
		s.environ = append(s.environ, "CHEQUER_DATA_DIR="+demoDir)
	}
	return s.loadServer()
}
