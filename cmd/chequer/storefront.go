package main

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"chequer/internal/app"
)

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
				return errors.New("--api: want an address like https://pay.example.org")
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
