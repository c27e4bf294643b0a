package main

import (
	"fmt"
	"io"

	"github.com/skip2/go-qrcode"
	"github.com/spf13/cobra"

	"chequer/internal/console"
	"chequer/internal/merchant"
)

// terminal returns the group of commands about counter terminals.
func (s *shell) terminal() *cobra.Command {
	c := console.Group("terminal", "Create, list and remove counter terminals, which create invoices from a phone",
		s.terminalLink(),
		list(s, "list", "List the counter terminals", func(call invocation) ([]terminalRow, error) {
			terminals, err := call.core.Terminals.List(call.Context(), call.shop.ID)
			return convertAll(terminals, newTerminalRow), err
		}, "ID\tMODE\tNAME\tCURRENCY\tCREATED", func(r terminalRow) []any {
			return []any{r.ID, r.Mode, r.Name, r.Currency, s.Time(r.CreatedAt)}
		}),
		s.change("remove ID", "Remove a counter terminal; its invoices stay", "removed", func(call invocation, id string) error {
			if err := call.core.Terminals.Remove(call.Context(), call.shop.ID, id); err != nil {
				return fmt.Errorf("remove %s: %w", id, err)
			}
			return nil
		}))
	c.Aliases = []string{"pos"}
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
	code      *qrcode.QRCode
}

func newTerminalRow(t merchant.Terminal) terminalRow {
	return terminalRow{ID: t.ID, Mode: t.Mode, Name: t.Name, Currency: t.Currency, CreatedAt: console.Stamp(t.CreatedAt)}
}

func (s *shell) terminalLink() *cobra.Command {
	flags := merchant.Terminal{}
	var codes []string
	c := &cobra.Command{
		Use:     "link",
		Short:   "Create a counter terminal, which a phone opens by its secret address",
		Long:    "Creates a secret address. A person who has it can create invoices of any amount for you, and nothing else.\nIt is shown once: open it on the phone, and put it on its home screen.",
		Example: "  chequer terminal link --name Bar",
		Args:    console.Arguments,
		RunE: answer(s, func(call invocation) (row terminalRow, err error) {
			flags.MerchantID = call.shop.ID
			if flags.Mode, err = call.mode(); err != nil {
				return row, err
			}
			if flags.Methods, err = call.methods(flags.Mode, codes); err != nil {
				return row, err
			}
			created, err := call.core.Terminals.Create(call.Context(), flags)
			if err != nil {
				return row, err
			}
			row = newTerminalRow(created)
			row.URL = call.cfg.BaseURL + "/pos/" + created.Secret
			if row.code, err = qrcode.New(row.URL, qrcode.Medium); err != nil {
				return row, fmt.Errorf("make QR code: %w", err)
			}
			return row, nil
		}, func(w io.Writer, row terminalRow) {
			fmt.Fprintf(w, "%s\nScan the code with the phone, or open the link there.\n\n", row.code.ToSmallString(false))
			fmt.Fprintf(w, "link  %s\nid    %s\nmode  %s\nAnyone with this link can create invoices for you. It is not shown again; chequer terminal remove %s ends it.\n", row.URL, row.ID, row.Mode, row.ID)
		}),
	}
	c.Flags().StringVar(&flags.Name, "name", "", "where it stands, such as Bar; shoppers and your lists see it")
	c.Flags().StringVar(&flags.Currency, "currency", "EUR", "currency of its amounts")
	methodsFlag(c, &codes)
	testFlag(c, "for test invoices, which cost nothing")
	return c
}
