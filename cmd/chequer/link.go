package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"chequer/internal/config"
	"chequer/internal/console"
	"chequer/internal/merchant"
)

// link returns the group of commands about checkout links.
func (s *shell) link() *cobra.Command {
	remove := s.change("remove SLUG", "Remove a link; its invoices stay", "removed", func(call invocation, slug string) error {
		mode, err := call.mode()
		if err != nil {
			return err
		}
		return linkError(call, "remove", mode, slug, call.core.Links.Remove(call.Context(), call.shop.ID, mode, slug))
	})
	testFlag(remove, "a link for test invoices")
	return console.Group("link", "Create, change, list and remove checkout links", s.linkAdd(), s.linkChange(),
		list(s, "list", "List the current links", func(call invocation) ([]linkRow, error) {
			var links []merchant.Link
			for _, mode := range []merchant.Mode{merchant.Live, merchant.Test} {
				for l, err := range call.core.Links.All(call.Context(), call.shop.ID, mode) {
					if err != nil {
						return nil, err
					}
					links = append(links, l)
				}
			}
			slices.SortStableFunc(links, func(a, b merchant.Link) int { // oldest first
				return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), strings.Compare(a.Slug, b.Slug))
			})
			return convertAll(links, func(l merchant.Link) linkRow { return newLinkRow(call.cfg, l) }), nil
		}, "LINK\tMODE\tAMOUNT\tDESCRIPTION\tCREATED", func(r linkRow) []any {
			return []any{r.URL, r.Mode, r.price(), r.Description, s.Time(r.CreatedAt)}
		}), remove)
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
		Methods: append([]string{}, l.Methods.Codes()...), EndsAt: console.Stamp(l.EndsAt), MaxUses: l.MaxUses, CreatedAt: console.Stamp(l.CreatedAt),
	}
}

// price returns a link's amount, as text.
func (r linkRow) price() string {
	if r.Amount == "" {
		return "any " + r.Currency
	}
	return console.Fiat(r.Amount, r.Currency)
}

func (s *shell) writeLink(w io.Writer, row linkRow) {
	fmt.Fprintf(w, "link    %s\nmode    %s\namount  %s\n", row.URL, row.Mode, row.price())
	if len(row.Methods) > 0 {
		fmt.Fprintf(w, "offers  %s\n", strings.Join(row.Methods, " "))
	}
	if row.EndsAt != "" {
		fmt.Fprintf(w, "ends    %s\n", s.Time(row.EndsAt))
	}
	if row.MaxUses > 0 {
		fmt.Fprintf(w, "uses    %d\n", row.MaxUses)
	}
}

// linkFlags is a link as the flags describe it.
type linkFlags struct {
	merchant.Link
	methods []string
	ends    string
}

// add adds the flags of the fields that can be changed.
func (l *linkFlags) add(c *cobra.Command) {
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

// complete parses the flags into the link.
func (l *linkFlags) complete(s *shell, call invocation) (err error) {
	l.MerchantID = call.shop.ID
	if l.Mode, err = call.mode(); err == nil {
		l.EndsAt, err = s.ParseTime("ends", l.ends)
	}
	if err == nil {
		l.Methods, err = call.methods(l.Mode, l.methods)
	}
	return err
}

// apply copies the fields whose flags were given to another link.
func (l *linkFlags) apply(call invocation, to *merchant.Link) {
	call.applyFlags(map[string]func(){
		"amount": func() { to.Amount = l.Amount }, "currency": func() { to.Currency = l.Currency }, "description": func() { to.Description = l.Description },
		"success-url": func() { to.URLSuccess = l.URLSuccess }, "failure-url": func() { to.URLFailure = l.URLFailure },
		"methods": func() { to.Methods = l.Methods }, "ends": func() { to.EndsAt = l.EndsAt }, "uses": func() { to.MaxUses = l.MaxUses },
	})
}

func (s *shell) linkAdd() *cobra.Command {
	var l linkFlags
	c := &cobra.Command{
		Use:     "add",
		Short:   "Create a checkout link; without --amount the shopper chooses the amount",
		Example: "  chequer link add --slug coffee --amount 3.50 --description \"Filter coffee\"",
		Args:    console.Arguments,
		RunE: answer(s, func(call invocation) (linkRow, error) {
			if err := l.complete(s, call); err != nil {
				return linkRow{}, err
			}
			created, err := call.core.Links.Create(call.Context(), l.Link)
			if errors.Is(err, merchant.ErrExists) {
				err = fmt.Errorf("there is a link %s already: chequer link change %s changes it", l.Slug, l.Slug)
			}
			return newLinkRow(call.cfg, created), err
		}, s.writeLink),
	}
	c.Flags().StringVar(&l.Slug, "slug", "", "end of its address, such as coffee (default random)")
	l.add(c)
	return c
}

func (s *shell) linkChange() *cobra.Command {
	var l linkFlags
	c := &cobra.Command{
		Use:   "change SLUG",
		Short: "Change the given fields of a link; its invoices stay as they are",
		Args:  console.Arguments,
		RunE: answer(s, func(call invocation) (linkRow, error) {
			if err := l.complete(s, call); err != nil {
				return linkRow{}, err
			}
			changed, err := call.core.Links.Change(call.Context(), l.MerchantID, l.Mode, call.args[0], func(old *merchant.Link) error {
				l.apply(call, old)
				return nil
			})
			return newLinkRow(call.cfg, changed), linkError(call, "change", l.Mode, call.args[0], err)
		}, s.writeLink),
	}
	l.add(c)
	return c
}

// linkError adds the verb, the link and a hint to err. It returns nil if err is nil.
func linkError(call invocation, verb string, mode merchant.Mode, slug string, err error) error {
	if err == nil {
		return nil
	}
	var other merchant.Mode
	if l, readErr := call.core.Links.Link(call.Context(), slug); readErr == nil && l.MerchantID == call.shop.ID { // without it the hint is general
		other = l.Mode
	}
	return notFound(fmt.Errorf("%s %s link %s: %w", verb, mode, slug, err), "link", other)
}
