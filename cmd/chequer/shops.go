package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"chequer/internal/console"
	"chequer/internal/merchant"
	"chequer/internal/report"
)

// shop returns the group of commands that manage the shops of the server.
func (s *shell) shop() *cobra.Command {
	return console.Group("shop", "List, create, rename and recount the shops of the server",
		list(s, "list", "List the shops, oldest first", listShops, "ID\tNAME\tADDRESS\tCREATED", func(r shopRow) []any {
			return []any{r.ID, r.Name, r.Address, s.Time(r.CreatedAt)}
		}),
		s.shopCreate(), s.addShopFlag(s.shopRename()), s.addShopFlag(s.shopRecount()))
}

// shopRow is a shop in the output of commands.
type shopRow struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Address   string `json:"address"` // URL of its storefront
	CreatedAt string `json:"created_at"`
}

func newShopRow(call invocation, m merchant.Merchant, isFirst bool) shopRow {
	row := shopRow{ID: m.ID, Name: m.Name, Address: call.cfg.BaseURL + "/", CreatedAt: console.Stamp(m.CreatedAt)}
	if !isFirst {
		row.Address = call.cfg.BaseURL + m.Path()
	}
	return row
}

func listShops(call invocation) ([]shopRow, error) {
	shops, err := call.core.Merchants.Shops(call.Context())
	rows := make([]shopRow, len(shops))
	for i, m := range shops {
		rows[i] = newShopRow(call, m, i == 0)
	}
	return rows, err
}

func (s *shell) shopCreate() *cobra.Command {
	var owner string
	c := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a shop with its own wallets, keys, products and accounts",
		Long: `Creates a shop on this server. Networks, rates, accounts and backups are shared; everything else belongs to one
shop. The ID is made of the name and stays when the shop is renamed.`,
		Example: "  chequer shop create \"Atelier Nord\" --owner Maren\n  chequer wallet add BTC zpub… --shop \"Atelier Nord\"",
		Args:    console.Arguments,
		RunE: answer(s, func(call invocation) (shopRow, error) {
			ownerID := ""
			if owner != "" {
				a, err := call.namedAccount(owner)
				if err != nil {
					return shopRow{}, err
				}
				ownerID = a.ID
			}
			m, err := call.core.Merchants.CreateShop(call.Context(), call.args[0], ownerID)
			if err != nil {
				return shopRow{}, shopError(err, call.args[0])
			}
			return newShopRow(call, m, false), nil
		}, func(w io.Writer, r shopRow) {
			console.WriteFields(w, [][2]string{{"id", r.ID}, {"name", r.Name}, {"address", r.Address}})
			if owner == "" {
				fmt.Fprintf(w, "No account has a role in it yet: chequer account role NAME owner --shop %s, or chequer account invite --role owner --shop %s\n", r.ID, r.ID)
			}
		}),
	}
	c.Flags().StringVar(&owner, "owner", "", "account that becomes the owner of the shop")
	return c
}

func (s *shell) shopRename() *cobra.Command {
	return &cobra.Command{
		Use:   "rename NAME",
		Short: "Change the name of a shop; existing invoices keep the old name, and the shop keeps its ID",
		Args:  console.Arguments,
		RunE: answer(s, func(call invocation) (shopRow, error) {
			shops, err := call.core.Merchants.Shops(call.Context())
			if err != nil {
				return shopRow{}, err
			}
			isFirst := shops[0].ID == call.shop.ID
			if isFirst && call.cfg.ShopName != "" {
				return shopRow{}, errors.New("the name of this shop is set by CHEQUER_SHOP_NAME: change it there")
			}
			if err := call.core.Merchants.RenameShop(call.Context(), call.shop.ID, "", call.args[0]); err != nil {
				return shopRow{}, shopError(err, call.args[0])
			}
			m, err := call.core.Merchants.Merchant(call.Context(), call.shop.ID)
			return newShopRow(call, m, isFirst), err
		}, func(w io.Writer, r shopRow) { fmt.Fprintln(w, "renamed", r.ID, "to", r.Name) }),
	}
}

func (s *shell) shopRecount() *cobra.Command {
	return &cobra.Command{
		Use:   "recount",
		Short: "Compute the totals of the reports and what the wallets received again from the invoices, for example if chequer doctor finds a difference",
		Args:  console.Arguments,
		RunE: answer(s, func(call invocation) (map[string]string, error) {
			storage, id := call.core.Storage, call.shop.ID
			if err := storage.RestartSums(call.Context(), id); err != nil {
				return nil, err
			}
			return map[string]string{"recounted": id}, report.Complete(call.Context(), storage, id)
		}, func(w io.Writer, result map[string]string) { fmt.Fprintln(w, "recounted", result["recounted"]) }),
	}
}

// shopError adds the name or the limit to an error of creating or renaming a shop.
func shopError(err error, name string) error {
	switch {
	case errors.Is(err, merchant.ErrNameTaken):
		return fmt.Errorf("%q: %w: chequer shop list shows all", name, err)
	case errors.Is(err, merchant.ErrTooMany):
		return fmt.Errorf("a server has at most %d shops", merchant.MaxShops)
	}
	return err
}
