package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"chequer/internal/app"
	"chequer/internal/config"
)

// demo is the command that a newcomer starts with.
func (s *shell) demo() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Try it: a demo shop with made-up rates and money, no account and no network",
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
			fmt.Fprintf(out, "\n  Chequer demo: no real money, made-up rates.\n\n  Open     %s\n  Test key %s\n  Secret   %s\n\n  Ctrl-C stops it; everything is kept in %s: other commands find it by %s.\n\n",
				cfg.BaseURL, a.DemoKey().Key, a.DemoKey().Secret, cfg.DataDir, s.found(cfg))
			return runUntilDone(c.Context(), a)
		},
	}
}

// demoDir is where the demo keeps its data, apart from what a real shop will
// keep: its name and its keys are not to be found in there.
const demoDir = "data/demo"

// found is the settings by which other commands find a demo: those of the address,
// too, where one was given, since they print addresses of it.
func (s *shell) found(cfg config.Config) string {
	found := []string{"CHEQUER_DATA_DIR=" + cfg.DataDir}
	for _, pair := range s.environ {
		if name, value, _ := strings.Cut(pair, "="); value != "" && (name == "CHEQUER_LISTEN" || name == "CHEQUER_BASE_URL") {
			found = append(found, pair)
		}
	}
	return strings.Join(found, " ")
}

// loadDemo reads the settings, with a data directory of the demo's own unless one
// is given.
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
