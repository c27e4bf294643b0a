package main

import (
	"fmt"
	"io"

	"github.com/skip2/go-qrcode"
	"github.com/spf13/cobra"

	"chequer/internal/merchant"
)

// pos returns the group of commands about counter terminals.
func (s *shell) pos() *cobra.Command {
	c := group("pos", "Create, list and remove counter terminals, which create invoices from a phone")
	c.AddCommand(s.posLink(), s.posList(), s.posRemove())
	return c
}

// terminalRow is a terminal as it is printed.
type terminalRow struct {
	ID        string        `json:"id"`
	Mode      merchant.Mode `json:"mode"`
	Name      string        `json:"name"`
	Currency  string        `json:"fiat_currency"`
	CreatedAt string        `json:"created_at"`
	URL       string        `json:"url,omitempty"` // only when it is created
}

func newTerminalRow(t merchant.Terminal) terminalRow {
	return terminalRow{ID: t.ID, Mode: t.Mode, Name: t.Name, Currency: t.Currency, CreatedAt: stamp(t.CreatedAt)}
}

func (s *shell) posLink() *cobra.Command {
	t := merchant.Terminal{}
	var codes []string
	c := &cobra.Command{
		Use:     "link",
		Short:   "Create a counter terminal, which a phone opens by its secret address",
		Long:    "Creates a secret address. A person who has it can create invoices of any amount for you, and nothing else.\nIt is shown once: open it on the phone, and put it on its home screen.",
		Example: "  chequer pos link --name Bar",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, core, shop, err := s.shop(c)
			if err != nil {
				return err
			}
			defer core.Close()
			t.MerchantID = shop.ID
			if t.Mode, err = mode(c, core, shop.ID); err != nil {
				return err
			}
			if t.Methods, err = methods(c, core, cfg, t.Mode, codes); err != nil {
				return err
			}
			made, err := core.Terminals.Create(c.Context(), t)
			if err != nil {
				return err
			}
			row := newTerminalRow(made)
			row.URL = cfg.BaseURL + "/pos/" + made.Secret
			code, err := qrcode.New(row.URL, qrcode.Medium)
			if err != nil {
				return fmt.Errorf("make QR code: %w", err)
			}
			return s.print(c, row, func(w io.Writer) {
				fmt.Fprintf(w, "%s\nScan the code with the phone, or open the link there.\n\n", code.ToSmallString(false))
				fmt.Fprintf(w, "link  %s\nid    %s\nmode  %s\nWhoever has this link makes invoices for you. It is not shown again; chequer pos remove %s ends it.\n", row.URL, row.ID, row.Mode, row.ID)
			})
		},
	}
	c.Flags().StringVar(&t.Name, "name", "", "where it stands, such as Bar; shoppers and your lists see it")
	c.Flags().StringVar(&t.Currency, "currency", "EUR", "currency of its amounts")
	methodsFlag(c, &codes)
	testFlag(c, "for test invoices, which cost nothing")
	return c
}

func (s *shell) posList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the counter terminals",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, core, shop, err := s.shop(c)
			if err != nil {
				return err
			}
			defer core.Close()
			all, err := core.Terminals.List(c.Context(), shop.ID)
			if err != nil {
				return err
			}
			rows := make([]terminalRow, len(all))
			for i, t := range all {
				rows[i] = newTerminalRow(t)
			}
			return s.print(c, rows, func(w io.Writer) {
				table(w, "ID\tMODE\tNAME\tCURRENCY\tCREATED", rows, func(r terminalRow) []any {
					return []any{r.ID, r.Mode, r.Name, r.Currency, s.when(r.CreatedAt)}
				})
			})
		},
	}
}

func (s *shell) posRemove() *cobra.Command {
	return &cobra.Command{
		Use:   "remove ID",
		Short: "Remove a counter terminal; its invoices stay",
		Args:  arguments,
		RunE: func(c *cobra.Command, args []string) error {
			_, core, shop, err := s.shop(c)
			if err != nil {
				return err
			}
			defer core.Close()
			if err := core.Terminals.Remove(c.Context(), shop.ID, args[0]); err != nil {
				return fmt.Errorf("remove %s: %w", args[0], err)
			}
			return s.print(c, map[string]string{"removed": args[0]}, func(w io.Writer) { fmt.Fprintln(w, "removed", args[0]) })
		},
	}
}
