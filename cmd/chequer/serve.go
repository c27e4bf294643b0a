package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"chequer/internal/app"
	"chequer/internal/config"
	"chequer/internal/console"
)

// serve returns the command that runs the server.
func (s *shell) serve() *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Serve the API and the payment pages (the default)",
		Args:  console.Arguments,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := s.loadServer()
			if err != nil {
				return err
			}
			a, err := app.New(c.Context(), cfg, app.Options{Log: newLogger(cfg)})
			if err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "Chequer listens on http://%s, its public address is %s\n", a.Addr(), cfg.BaseURL)
			link, err := a.DeskLink(c.Context())
			writeFirstRun(c.OutOrStdout(), link, err)
			return runUntilDone(c.Context(), a)
		},
	}
}

// storefront returns the command that serves only the storefront and the payment page.
func (s *shell) storefront() *cobra.Command {
	var service string
	c := &cobra.Command{
		Use:   "storefront --api URL",
		Short: "Serve only the storefront and the payment page, in front of another service",
		Long:  "Serves the storefront and the payment page in front of any service that creates invoices as the\nspecification says. CHEQUER_API_KEY and CHEQUER_API_SECRET sign the requests.",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := s.loadServer()
			if err != nil {
				return err
			}
			if u, err := url.Parse(service); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
				return errors.New("--api must be an address such as https://pay.example.org")
			}
			if cfg.APIKey == "" {
				return errors.New("CHEQUER_API_KEY and CHEQUER_API_SECRET are missing: they sign the requests to the service")
			}
			a, err := app.NewStorefront(c.Context(), cfg, service, app.Options{Log: newLogger(cfg)})
			if err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "Storefront listens on http://%s in front of %s\n", a.Addr(), service)
			return runUntilDone(c.Context(), a)
		},
	}
	c.Flags().StringVar(&service, "api", "", "address of the service")
	_ = c.MarkFlagRequired("api")
	return c
}

// demo returns the command that runs a demo shop.
func (s *shell) demo() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Run a demo shop with example rates and test money; it needs no account and no network",
		Args:  console.Arguments,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := s.loadDemo()
			if err != nil {
				return err
			}
			a, err := app.New(c.Context(), cfg, app.Options{Demo: true, Log: newLogger(cfg)})
			if err != nil {
				return err
			}
			desk, err := deskAddress(cfg.BaseURL, func() (app.DeskLink, error) { return a.DeskLink(c.Context()) })
			if err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "\n  Chequer demo: no real money, example rates.\n\n  Open     %s\n  Desk     %s\n  Manual   %s/docs\n  Test key %s\n  Secret   %s\n\n  Ctrl-C stops it; its data stays in %s. Other commands find it by %s.\n\n",
				cfg.BaseURL, desk, cfg.BaseURL, a.DemoKey().Key, a.DemoKey().Secret, cfg.DataDir, s.demoSettings(cfg))
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
	for _, pair := range s.Environ {
		if name, value, _ := strings.Cut(pair, "="); value != "" && (name == "CHEQUER_LISTEN" || name == "CHEQUER_BASE_URL") {
			settings = append(settings, pair)
		}
	}
	return strings.Join(settings, " ")
}

// loadDemo reads the settings. The data directory is demoDir by default.
func (s *shell) loadDemo() (config.Config, error) {
	isSet := func(pair string) bool {
		name, value, _ := strings.Cut(pair, "=")
		return strings.HasPrefix(name, "CHEQUER_DATA_DIR") && value != ""
	}
	if !slices.ContainsFunc(s.Environ, isSet) {
		s.Environ = append(s.Environ, "CHEQUER_DATA_DIR="+demoDir)
	}
	return s.loadServer()
}

// init returns the command that creates a shop without serving it.
func (s *shell) init() *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Create the database and the master key, so that other commands find a shop",
		Args:  console.Arguments,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := s.loadServer()
			if err != nil {
				return err
			}
			core, err := app.OpenCore(c.Context(), cfg, app.Options{Log: newLogger(cfg)})
			if err != nil {
				return err
			}
			defer core.Close()
			shop, err := core.FirstShop(c.Context(), cfg, app.Options{})
			if err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "%q is ready; its data is in %s\n", shop.Name, cfg.DataDir)
			return nil
		},
	}
}

// migrate returns the command that upgrades the database without serving.
func (s *shell) migrate() *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Upgrade the database of an older release, as serve does",
		Long:  "Upgrades the database to this release. Older releases cannot open it afterwards: stop their servers\nfirst. A SQLite database is first copied into a file beside it. Copy a PostgreSQL database yourself, with\nchequer backup of the older release or pg_dump. Only migrate, serve, demo and restore upgrade.",
		Args:  console.Arguments,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := s.load()
			if err != nil {
				return err
			}
			core, err := app.OpenCore(c.Context(), cfg, app.Options{Log: newLogger(cfg), Existing: true, Upgrade: true})
			if err != nil {
				return err
			}
			defer core.Close()
			migration := core.Storage.Migration()
			return s.Print(c, migration, func(w io.Writer) {
				if migration.From == migration.To {
					fmt.Fprintf(w, "The database is of schema version %d already\n", migration.To)
					return
				}
				fmt.Fprintf(w, "Upgraded from schema version %d to %d\n", migration.From, migration.To)
				if migration.Copy != "" {
					fmt.Fprintf(w, "A copy of the old database is in %s: delete it when everything works\n", migration.Copy)
				}
			})
		},
	}
}

// runner is a program that runs until its context ends.
type runner interface {
	Run(ctx context.Context) error
	Close() error
}

// stopTimeout bounds the time for a program to stop and to close. The program ends within 5 seconds, because
// container runtimes kill it after 10.
const stopTimeout = 4800 * time.Millisecond

// errStopTimeout means that the program was ended while work was in progress, as by a crash.
// Everything that was acknowledged is stored.
var errStopTimeout = errors.New("the program did not stop in time, for example because the database does not answer")

// runUntilDone runs the program until the context ends, and then closes it. It returns
// errStopTimeout if that takes longer than stopTimeout.
func runUntilDone(ctx context.Context, a runner) error {
	done := make(chan error, 1)
	go func() { done <- errors.Join(a.Run(ctx), a.Close()) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(stopTimeout):
		return errStopTimeout
	}
}
