package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"chequer/internal/config"
	"chequer/internal/merchant"
	"chequer/internal/money"
)

// product returns the group of commands about the products at /shop.
func (s *shell) product() *cobra.Command {
	c := group("product", "Create, change, list and remove the products at /shop")
	c.AddCommand(s.productAdd(), s.productChange(), s.productShow(), s.productList(), s.productRemove())
	return c
}

// productRow is a product as it is printed.
type productRow struct {
	URL         string               `json:"url"`
	Slug        string               `json:"slug"`
	Mode        merchant.Mode        `json:"mode"`
	Name        string               `json:"name"`
	Description string               `json:"description"`
	Price       string               `json:"price"`
	Currency    string               `json:"fiat_currency"`
	MaxQuantity int                  `json:"max_quantity"`
	AskOrderID  merchant.Requirement `json:"ask_order_id"`
	AskNote     merchant.Requirement `json:"ask_note"`
	Methods     []string             `json:"payment_methods"`
	Active      bool                 `json:"active"`
	CreatedAt   string               `json:"created_at"`
}

func newProductRow(cfg config.Config, p merchant.Product) productRow {
	return productRow{
		URL: cfg.BaseURL + "/shop/" + p.Slug, Slug: p.Slug, Mode: p.Mode, Name: p.Name, Description: p.Description,
		Price: p.Price.String(), Currency: p.Price.Currency().Code, MaxQuantity: p.MaxQuantity,
		AskOrderID: p.AskOrderID, AskNote: p.AskNote, Methods: append([]string{}, p.Methods.Codes()...), Active: p.Active, CreatedAt: stamp(p.CreatedAt),
	}
}

// most returns the highest quantity, as text.
func (r productRow) most() string {
	if r.MaxQuantity == 0 {
		return "any"
	}
	return strconv.Itoa(r.MaxQuantity)
}

// sold returns whether the product is for sale, as text.
func (r productRow) sold() string {
	if r.Active {
		return "yes"
	}
	return "no"
}

func (s *shell) printProduct(c *cobra.Command, row productRow) error {
	return s.print(c, row, func(w io.Writer) {
		table(w, "", [][2]string{
			{"product", row.URL}, {"mode", string(row.Mode)}, {"name", row.Name}, {"description", row.Description},
			{"price", row.Price + " " + row.Currency}, {"highest quantity", row.most()}, {"asks for order reference", string(row.AskOrderID)},
			{"asks for note", string(row.AskNote)}, {"for sale", row.sold()},
		}, func(r [2]string) []any { return []any{r[0], r[1]} })
	})
}

// productFlags is a product as the flags describe it.
type productFlags struct {
	merchant.Product
	price, currency     string
	askOrderID, askNote string
	methods             []string
}

// flags adds the flags of the fields that can be changed.
func (p *productFlags) flags(c *cobra.Command) {
	c.Flags().StringVar(&p.Name, "name", "", "name of the product")
	c.Flags().StringVar(&p.Description, "description", "", "description in one line")
	c.Flags().StringVar(&p.price, "price", "", "price of one piece, such as 12.50")
	c.Flags().StringVar(&p.currency, "currency", "EUR", "currency of the price")
	c.Flags().IntVar(&p.MaxQuantity, "max-quantity", 0, "highest quantity in one order (default 0: the server's maximum)")
	c.Flags().StringVar(&p.askOrderID, "ask-order-id", "no", "whether the shopper is asked for an order reference: no, optional or required")
	c.Flags().StringVar(&p.askNote, "ask-note", "no", "whether the shopper is asked for a note: no, optional or required")
	methodsFlag(c, &p.methods)
	c.Flags().BoolVar(&p.Active, "active", true, "whether it is shown and sold; --active=false hides it")
	testFlag(c, "a product of test invoices, which cost nothing")
}

func (s *shell) productAdd() *cobra.Command {
	var p productFlags
	c := &cobra.Command{
		Use:     "add SLUG",
		Short:   "Create a product; its page is /shop/SLUG",
		Example: "  chequer product add coffee --name \"Filter coffee\" --price 3.50 --max-quantity 20",
		Args:    arguments,
		RunE: func(c *cobra.Command, args []string) error {
			cfg, core, shop, err := s.shop(c)
			if err != nil {
				return err
			}
			defer core.Close()
			p.Slug, p.MerchantID = args[0], shop.ID
			if p.Mode, err = mode(c, core, shop.ID); err != nil {
				return err
			}
			p.AskOrderID, p.AskNote = merchant.Requirement(p.askOrderID), merchant.Requirement(p.askNote)
			if p.Price, err = core.Products.Price(p.price, p.currency); err != nil {
				return err
			}
			if p.Methods, err = methods(c, core, cfg, p.Mode, p.methods); err != nil {
				return err
			}
			made, err := core.Products.Create(c.Context(), p.Product)
			switch {
			case errors.Is(err, merchant.ErrExists):
				return fmt.Errorf("there is a product %s already: chequer product change %s changes it", p.Slug, p.Slug)
			case errors.Is(err, merchant.ErrTooMany):
				return fmt.Errorf("there are already %d products, which is the maximum: chequer product remove removes one", merchant.MaxProducts)
			case err != nil:
				return err
			}
			return s.printProduct(c, newProductRow(cfg, made))
		},
	}
	p.flags(c)
	for _, name := range []string{"name", "price"} {
		_ = c.MarkFlagRequired(name)
	}
	return c
}

func (s *shell) productChange() *cobra.Command {
	var p productFlags
	c := &cobra.Command{
		Use:   "change SLUG",
		Short: "Change the given fields of a product; its invoices stay as they are",
		Args:  arguments,
		RunE: func(c *cobra.Command, args []string) error {
			cfg, core, shop, err := s.shop(c)
			if err != nil {
				return err
			}
			defer core.Close()
			mode, err := mode(c, core, shop.ID)
			if err != nil {
				return err
			}
			if p.Methods, err = methods(c, core, cfg, mode, p.methods); err != nil {
				return err
			}
			changed, err := core.Products.Change(c.Context(), shop.ID, mode, args[0], func(old *merchant.Product) error {
				return p.apply(c, old, core.Products.Price)
			})
			if errors.Is(err, merchant.ErrNotFound) {
				return fmt.Errorf("change %s product %s: %w%s", mode, args[0], err, otherMode(c.Context(), core.Products, shop.ID, args[0]))
			}
			if err != nil {
				return err
			}
			return s.printProduct(c, newProductRow(cfg, changed))
		},
	}
	p.flags(c)
	return c
}

func (s *shell) productShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show SLUG",
		Short: "Show a product",
		Args:  arguments,
		RunE: func(c *cobra.Command, args []string) error {
			cfg, core, shop, err := s.shop(c)
			if err != nil {
				return err
			}
			defer core.Close()
			p, err := core.Products.Product(c.Context(), shop.ID, args[0])
			if err != nil {
				return fmt.Errorf("show product %s: %w", args[0], err)
			}
			return s.printProduct(c, newProductRow(cfg, p))
		},
	}
}

func (s *shell) productList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the products",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, core, shop, err := s.shop(c)
			if err != nil {
				return err
			}
			defer core.Close()
			all, err := core.Products.Products(c.Context(), shop.ID)
			if err != nil {
				return err
			}
			rows := make([]productRow, len(all))
			for i, p := range all {
				rows[i] = newProductRow(cfg, p)
			}
			return s.print(c, rows, func(w io.Writer) {
				table(w, "PRODUCT\tMODE\tNAME\tPRICE\tHIGHEST QUANTITY\tFOR SALE", rows, func(r productRow) []any {
					return []any{r.URL, r.Mode, r.Name, r.Price + " " + r.Currency, r.most(), r.sold()}
				})
			})
		},
	}
}

func (s *shell) productRemove() *cobra.Command {
	c := &cobra.Command{
		Use:   "remove SLUG",
		Short: "Remove a product; its invoices stay",
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
			err = core.Products.RemoveProduct(c.Context(), shop.ID, mode, args[0])
			if errors.Is(err, merchant.ErrNotFound) {
				return fmt.Errorf("remove %s product %s: %w%s", mode, args[0], err, otherMode(c.Context(), core.Products, shop.ID, args[0]))
			}
			if err != nil {
				return err
			}
			return s.print(c, map[string]string{"removed": args[0]}, func(w io.Writer) { fmt.Fprintln(w, "removed", args[0]) })
		},
	}
	testFlag(c, "a product of test invoices")
	return c
}

// otherMode returns a hint if a product that was not found exists in the other mode, and "" if it
// does not exist.
func otherMode(ctx context.Context, products *merchant.Products, merchantID, slug string) string {
	switch p, err := products.Product(ctx, merchantID, slug); {
	case err != nil:
		return ""
	case p.Mode == merchant.Test:
		return ": it is one of test invoices, so add --test"
	default:
		return ": it is one of live invoices, so leave out --test, or on a demo add --test=false"
	}
}

// apply copies the fields whose flags were given to a product.
func (p *productFlags) apply(c *cobra.Command, old *merchant.Product, read func(digits, code string) (money.Amount, error)) (err error) {
	given := c.Flags().Changed
	price, currency := old.Price.String(), old.Price.Currency().Code
	for name, set := range map[string]func(){
		"name":         func() { old.Name = p.Name },
		"description":  func() { old.Description = p.Description },
		"price":        func() { price = p.price },
		"currency":     func() { currency = p.currency },
		"max-quantity": func() { old.MaxQuantity = p.MaxQuantity },
		"ask-order-id": func() { old.AskOrderID = merchant.Requirement(p.askOrderID) },
		"ask-note":     func() { old.AskNote = merchant.Requirement(p.askNote) },
		"methods":      func() { old.Methods = p.Methods },
		"active":       func() { old.Active = p.Active },
	} {
		if given(name) {
			set()
		}
	}
	old.Price, err = read(price, currency)
	return err
}
