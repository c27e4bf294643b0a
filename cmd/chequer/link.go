package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"chequer/internal/app"
	"chequer/internal/config"
	"chequer/internal/merchant"
)

// link returns the group of commands about checkout links.
func (s *shell) link() *cobra.Command {
	c := group("link", "Create, change, list and remove checkout links")
	c.AddCommand(s.linkAdd(), s.linkChange(), s.linkList(), s.linkRemove())
	return c
}

// linkRow is a link as it is printed.
type linkRow struct {
	URL         string        `json:"url"`
	Slug        string        `json:"slug"`
	Mode        merchant.Mode `json:"mode"`
	Amount      string        `json:"amount"`
	Currency    string        `json:"fiat_currency"`
	Description string        `json:"description"`
	URLSuccess  string        `json:"url_success"`
	URLFailure  string        `json:"url_failure"`
	Methods     []string      `json:"payment_methods"`
	EndsAt      string        `json:"ends_at"`
	MaxUses     int           `json:"max_uses"`
	CreatedAt   string        `json:"created_at"`
}

func newLinkRow(cfg config.Config, l merchant.Link) linkRow {
	return linkRow{
		URL: cfg.BaseURL + "/pay/" + l.Slug, Slug: l.Slug, Mode: l.Mode, Amount: l.Amount, Currency: l.Currency, Description: l.Description,
		URLSuccess: l.URLSuccess, URLFailure: l.URLFailure,
		Methods: append([]string{}, l.Methods.Codes()...), EndsAt: stamp(l.EndsAt), MaxUses: l.MaxUses, CreatedAt: stamp(l.CreatedAt),
	}
}

// price returns a link's amount, as text.
func (r linkRow) price() string {
	if r.Amount == "" {
		return "any " + r.Currency
	}
	return r.Amount + " " + r.Currency
}

// linkFlags is a link as the flags describe it.
type linkFlags struct {
	merchant.Link
	methods []string
	ends    string
}

// flags adds the flags of the fields that can be changed.
func (l *linkFlags) flags(c *cobra.Command) {
	c.Flags().StringVar(&l.Amount, "amount", "", "amount, such as 12.50 (default chosen by the shopper)")
	c.Flags().StringVar(&l.Currency, "currency", "EUR", "currency of the amount")
	c.Flags().StringVar(&l.Description, "description", "", "description that the shopper sees")
	c.Flags().StringVar(&l.URLSuccess, "success-url", "", "address to which the shopper returns after paying")
	c.Flags().StringVar(&l.URLFailure, "failure-url", "", "address to which the shopper returns without having paid")
	methodsFlag(c, &l.methods)
	c.Flags().StringVar(&l.ends, "ends", "", "day or time from which the link creates no more invoices, such as 2026-12-31 or 2026-12-31T18:00:00+01:00 (default never)")
	c.Flags().IntVar(&l.MaxUses, "uses", 0, "maximum number of invoices of the link that are paid or can still be paid (default 0: any number)")
	testFlag(c, "a link for test invoices, which cost nothing")
}

// apply copies the fields whose flags were given to another link.
func (l *linkFlags) apply(c *cobra.Command, to *merchant.Link) {
	for name, write := range map[string]func(){
		"amount": func() { to.Amount = l.Amount }, "currency": func() { to.Currency = l.Currency }, "description": func() { to.Description = l.Description },
		"success-url": func() { to.URLSuccess = l.URLSuccess }, "failure-url": func() { to.URLFailure = l.URLFailure },
		"methods": func() { to.Methods = l.Methods }, "ends": func() { to.EndsAt = l.EndsAt }, "uses": func() { to.MaxUses = l.MaxUses },
	} {
		if c.Flags().Changed(name) {
			write()
		}
	}
}

// end parses the end of a link: a time, or a day, which begins in the zone of printed times.
func (s *shell) end(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at.UTC().Truncate(time.Millisecond), nil
	}
	at, err := time.ParseInLocation(time.DateOnly, text, s.zone)
	if err != nil {
		return at, errors.New("--ends must be a day such as 2026-12-31, or a time such as 2026-12-31T18:00:00+01:00")
	}
	return at.UTC(), nil
}

// linkOf opens the storage and completes a link from its flags. The caller must close the core.
func (s *shell) linkOf(c *cobra.Command, l *linkFlags) (config.Config, *app.Core, error) {
	cfg, core, shop, err := s.shop(c)
	if err != nil {
		return cfg, nil, err
	}
	l.MerchantID = shop.ID
	if l.Mode, err = mode(c, core, shop.ID); err == nil {
		l.EndsAt, err = s.end(l.ends)
	}
	if err == nil {
		l.Methods, err = methods(c, core, cfg, l.Mode, l.methods)
	}
	if err != nil {
		return cfg, nil, errors.Join(err, core.Close())
	}
	return cfg, core, nil
}

func (s *shell) printLink(c *cobra.Command, row linkRow) error {
	return s.print(c, row, func(w io.Writer) {
		fmt.Fprintf(w, "link    %s\nmode    %s\namount  %s\n", row.URL, row.Mode, row.price())
		if len(row.Methods) > 0 {
			fmt.Fprintf(w, "offers  %s\n", strings.Join(row.Methods, " "))
		}
		if row.EndsAt != "" {
			fmt.Fprintf(w, "ends    %s\n", s.when(row.EndsAt))
		}
		if row.MaxUses > 0 {
			fmt.Fprintf(w, "uses    %d\n", row.MaxUses)
		}
	})
}

func (s *shell) linkAdd() *cobra.Command {
	var l linkFlags
	c := &cobra.Command{
		Use:     "add",
		Short:   "Create a checkout link; without --amount the shopper chooses the amount",
		Example: "  chequer link add --slug coffee --amount 3.50 --description \"Filter coffee\"",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, core, err := s.linkOf(c, &l)
			if err != nil {
				return err
			}
			defer core.Close()
			made, err := core.Links.Create(c.Context(), l.Link)
			if errors.Is(err, merchant.ErrExists) {
				return fmt.Errorf("there is a link %s already: chequer link change %s changes it", l.Slug, l.Slug)
			}
			if err != nil {
				return err
			}
			return s.printLink(c, newLinkRow(cfg, made))
		},
	}
	c.Flags().StringVar(&l.Slug, "slug", "", "end of its address, such as coffee (default random)")
	l.flags(c)
	return c
}

func (s *shell) linkChange() *cobra.Command {
	var l linkFlags
	c := &cobra.Command{
		Use:   "change SLUG",
		Short: "Change the given fields of a link; its invoices stay as they are",
		Args:  arguments,
		RunE: func(c *cobra.Command, args []string) error {
			cfg, core, err := s.linkOf(c, &l)
			if err != nil {
				return err
			}
			defer core.Close()
			changed, err := core.Links.Change(c.Context(), l.MerchantID, l.Mode, args[0], func(old *merchant.Link) error {
				l.apply(c, old)
				return nil
			})
			if err != nil {
				return fmt.Errorf("change %s link %s: %w", l.Mode, args[0], err)
			}
			return s.printLink(c, newLinkRow(cfg, changed))
		},
	}
	l.flags(c)
	return c
}

func (s *shell) linkList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the current links",
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
	c := &cobra.Command{
		Use:   "remove SLUG",
		Short: "Remove a link; its invoices stay",
		Args:  arguments,
		RunE: func(c *cobra.Command, args []string) error {
			_, core, shop, err := s.shop(c)
			if err != nil {
				return err
			}
			defer core.Close()
			mode, err := mode(c, core, shop.ID)
			if err != nil {
				return err
			}
			if err := core.Links.RemoveLink(c.Context(), shop.ID, mode, args[0]); err != nil {
				return fmt.Errorf("remove %s link %s: %w", mode, args[0], err)
			}
			return s.print(c, map[string]string{"removed": args[0]}, func(w io.Writer) { fmt.Fprintln(w, "removed", args[0]) })
		},
	}
	testFlag(c, "a link for test invoices")
	return c
}
