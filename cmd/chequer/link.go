package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"chequer/internal/config"
	"chequer/internal/merchant"
)

// link is the group of commands about checkout links.
func (s *shell) link() *cobra.Command {
	c := group("link", "Make, list and remove links to pay by")
	c.AddCommand(s.linkAdd(), s.linkList(), s.linkRemove())
	return c
}

// linkRow is a link as it is shown.
type linkRow struct {
	URL         string        `json:"url"`
	Slug        string        `json:"slug"`
	Mode        merchant.Mode `json:"mode"`
	Amount      string        `json:"amount"`
	Currency    string        `json:"fiat_currency"`
	Description string        `json:"description"`
	URLSuccess  string        `json:"url_success"`
	URLFailure  string        `json:"url_failure"`
	CreatedAt   string        `json:"created_at"`
}

func newLinkRow(cfg config.Config, l merchant.Link) linkRow {
	return linkRow{
		URL: cfg.BaseURL + "/pay/" + l.Slug, Slug: l.Slug, Mode: l.Mode, Amount: l.Amount, Currency: l.Currency, Description: l.Description,
		URLSuccess: l.URLSuccess, URLFailure: l.URLFailure, CreatedAt: stamp(l.CreatedAt),
	}
}

// price is what a link asks for, in words.
func (r linkRow) price() string {
	if r.Amount == "" {
		return "any " + r.Currency
	}
	return r.Amount + " " + r.Currency
}

func (s *shell) linkAdd() *cobra.Command {
	var l merchant.Link
	var test bool
	c := &cobra.Command{
		Use:     "add",
		Short:   "Make a link to pay by; without --amount the shopper says how much",
		Example: "  chequer link add --slug coffee --amount 3.50 --description \"Filter coffee\"",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, core, shop, err := s.shop(c)
			if err != nil {
				return err
			}
			defer core.Close()
			l.MerchantID, l.Mode = shop.ID, linkMode(test)
			made, err := core.Links.Create(c.Context(), l)
			if errors.Is(err, merchant.ErrExists) {
				return fmt.Errorf("there is a link %s already: chequer link remove %s ends it", l.Slug, l.Slug)
			}
			if err != nil {
				return err
			}
			row := newLinkRow(cfg, made)
			return s.print(c, row, func(w io.Writer) {
				fmt.Fprintf(w, "link    %s\nmode    %s\namount  %s\n", row.URL, row.Mode, row.price())
			})
		},
	}
	c.Flags().StringVar(&l.Slug, "slug", "", "end of its address, such as coffee (default random)")
	c.Flags().StringVar(&l.Amount, "amount", "", "amount, such as 12.50 (default what the shopper says)")
	c.Flags().StringVar(&l.Currency, "currency", "EUR", "currency of the amount")
	c.Flags().StringVar(&l.Description, "description", "", "what it is for; the shopper sees it")
	c.Flags().StringVar(&l.URLSuccess, "success-url", "", "where the shopper goes after paying")
	c.Flags().StringVar(&l.URLFailure, "failure-url", "", "where the shopper goes without having paid")
	c.Flags().BoolVar(&test, "test", false, "for test invoices, which cost nothing")
	return c
}

func (s *shell) linkList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the links in force",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, core, shop, err := s.shop(c)
			if err != nil {
				return err
			}
			defer core.Close()
			all, err := core.Links.Links(c.Context(), shop.ID)
			if err != nil {
				return err
			}
			rows := make([]linkRow, len(all))
			for i, l := range all {
				rows[i] = newLinkRow(cfg, l)
			}
			return s.print(c, rows, func(w io.Writer) {
				table(w, "LINK\tMODE\tAMOUNT\tDESCRIPTION\tCREATED", rows, func(r linkRow) []any {
					return []any{r.URL, r.Mode, r.price(), r.Description, s.when(r.CreatedAt)}
				})
			})
		},
	}
}

func (s *shell) linkRemove() *cobra.Command {
	var test bool
	c := &cobra.Command{
		Use:   "remove SLUG",
		Short: "End a link; invoices that it made stay",
		Args:  arguments,
		RunE: func(c *cobra.Command, args []string) error {
			_, core, shop, err := s.shop(c)
			if err != nil {
				return err
			}
			defer core.Close()
			if err := core.Links.RemoveLink(c.Context(), shop.ID, linkMode(test), args[0]); err != nil {
				return fmt.Errorf("remove %s link %s: %w", linkMode(test), args[0], err)
			}
			return s.print(c, map[string]string{"removed": args[0]}, func(w io.Writer) { fmt.Fprintln(w, "removed", args[0]) })
		},
	}
	c.Flags().BoolVar(&test, "test", false, "a link for test invoices")
	return c
}

func linkMode(test bool) merchant.Mode {
	if test {
		return merchant.Test
	}
	return merchant.Live
}
