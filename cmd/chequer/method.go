package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"chequer/internal/app"
	"chequer/internal/config"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
)

// method returns the command about the payment methods of the shop.
func (s *shell) method() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "methods [CODE…]",
		Short: "Choose the payment methods that the shop offers, and their order",
		Long: `Without a code it shows the selected methods. A link, a product, a terminal or a call of the API may select other
methods. Methods that cannot be priced or have no wallet are not offered.`,
		Example: "  chequer methods BTC EURC-BASE USDC-BASE\n  chequer methods --all",
		Args:    arguments,
		RunE: func(c *cobra.Command, args []string) error {
			cfg, core, shop, err := s.shop(c)
			if err != nil {
				return err
			}
			defer core.Close()
			if all || len(args) > 0 {
				if all {
					args = nil
				}
				mode, err := mode(c, core, shop.ID)
				if err != nil {
					return err
				}
				if shop.Methods, err = methods(c, core, cfg, mode, args); err != nil {
					return err
				}
				if err := core.Storage.SetMethods(c.Context(), shop.ID, shop.Methods); err != nil {
					return err
				}
			}
			row := map[string][]string{"payment_methods": append([]string{}, shop.Methods.Codes()...)}
			return s.print(c, row, func(w io.Writer) { fmt.Fprintln(w, orElse(string(shop.Methods), "all, in the server's order")) })
		},
	}
	c.Flags().BoolVar(&all, "all", false, "offer all methods, in the server's order")
	return c
}

// methodsFlag adds the flag that selects payment methods.
func methodsFlag(c *cobra.Command, into *[]string) {
	c.Flags().StringSliceVar(into, "methods", nil, "payment methods in the order of offer, such as BTC,EURC-BASE (default the methods of the shop)")
}

// methods parses a list of payment methods. It returns an error if this server does not offer one of them.
func methods(c *cobra.Command, core *app.Core, cfg config.Config, mode merchant.Mode, codes []string) (merchant.Methods, error) {
	chosen, err := merchant.NewMethods(codes)
	if err != nil {
		return "", fmt.Errorf("the choice of payment methods %w", err)
	}
	if len(codes) == 0 {
		return chosen, nil
	}
	service, err := core.Invoices(c.Context(), cfg, app.Options{Log: newLogger(cfg)})
	if err != nil {
		return "", err
	}
	for _, code := range codes {
		if !service.HasMethod(invoice.Mode(mode), code) {
			return "", fmt.Errorf("there is no payment method %s here; there are %s", code, strings.Join(service.MethodCodes(invoice.Mode(mode)), ", "))
		}
	}
	return chosen, nil
}
