package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"chequer/internal/console"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
)

// methodRow is the choice of payment methods as it is printed.
type methodRow struct {
	Chosen []string `json:"payment_methods"` // empty: all
	all    []string
}

// method returns the command about the payment methods of the shop.
func (s *shell) method() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "methods [CODE…]",
		Short: "Choose the payment methods that the shop offers, and their order",
		Long: `Without a code it shows the selected methods. A link, a product, a terminal or a call of the API may select other
methods. Methods that cannot be priced or have no wallet are not offered.`,
		Example: "  chequer methods BTC EURC-BASE USDC-BASE\n  chequer methods --all",
		Args:    console.Arguments,
		RunE: answer(s, func(in call) (methodRow, error) {
			mode, err := in.mode()
			if err != nil {
				return methodRow{}, err
			}
			if all {
				in.args = nil
			}
			if all || len(in.args) > 0 {
				if in.shop.Methods, err = in.methods(mode, in.args); err != nil {
					return methodRow{}, err
				}
				if err := in.core.Storage.SetMethods(in.Context(), in.shop.ID, in.shop.Methods); err != nil {
					return methodRow{}, err
				}
			}
			service, err := in.invoices()
			if err != nil {
				return methodRow{}, err
			}
			return methodRow{append([]string{}, in.shop.Methods.Codes()...), service.MethodCodes(invoice.Mode(mode))}, nil
		}, func(w io.Writer, r methodRow) {
			fmt.Fprintln(w, cmp.Or(strings.Join(r.Chosen, " "), "all, in the server's order: "+strings.Join(r.all, " ")))
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "offer all methods, in the server's order")
	return c
}

// methodsFlag adds the flag that selects payment methods.
func methodsFlag(c *cobra.Command, into *[]string) {
	c.Flags().StringSliceVar(into, "methods", nil, "payment methods in the order of offer, such as BTC,EURC-BASE (default the methods of the shop)")
}

// methods parses a list of payment methods. It returns an error if this server does not offer one of them.
func (in call) methods(mode merchant.Mode, codes []string) (merchant.Methods, error) {
	chosen, err := merchant.NewMethods(codes)
	if err != nil {
		return "", fmt.Errorf("the choice of payment methods %w", err)
	}
	if len(codes) == 0 {
		return chosen, nil
	}
	service, err := in.invoices()
	if err != nil {
		return "", err
	}
	for _, code := range codes {
		if !service.HasMethod(invoice.Mode(mode), code) {
			return "", fmt.Errorf("this server does not offer payment method %s, but %s", code, strings.Join(service.MethodCodes(invoice.Mode(mode)), ", "))
		}
	}
	return chosen, nil
}
