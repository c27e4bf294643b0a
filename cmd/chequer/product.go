package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"chequer/internal/config"
	"chequer/internal/console"
	"chequer/internal/merchant"
)

// product returns the group of commands about the products at /shop.
func (s *shell) product() *cobra.Command {
	show := &cobra.Command{
		Use: "show SLUG", Short: "Show a product", Args: console.Arguments,
		RunE: answer(s, func(call invocation) (productRow, error) {
			p, err := call.core.Products.Product(call.Context(), call.shop.ID, call.args[0])
			if err != nil {
				return productRow{}, fmt.Errorf("show product %s: %w", call.args[0], err)
			}
			return newProductRow(call.cfg, p), nil
		}, writeProduct),
	}
	remove := s.change("remove SLUG", "Remove a product; its invoices stay", "removed", func(call invocation, slug string) error {
		mode, err := call.mode()
		if err != nil {
			return err
		}
		return productError(call, "remove", mode, slug, call.core.Products.Remove(call.Context(), call.shop.ID, mode, slug))
	})
	testFlag(remove, "a product of test invoices")
	return console.Group("product", "Create, change, list and remove the products at /shop", s.productAdd(), s.productChange(), show,
		list(s, "list", "List the products", func(call invocation) ([]productRow, error) {
			products, err := call.core.Products.Products(call.Context(), call.shop.ID)
			return convertAll(products, func(p merchant.Product) productRow { return newProductRow(call.cfg, p) }), err
		}, "PRODUCT\tMODE\tNAME\tPRICE\tHIGHEST QUANTITY\tFOR SALE", func(r productRow) []any {
			return []any{r.URL, r.Mode, r.Name, console.Fiat(r.Price, r.Currency), r.maxQuantity(), r.forSale()}
		}), remove)
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
		AskOrderID: p.AskOrderID, AskNote: p.AskNote, Methods: append([]string{}, p.Methods.Codes()...), Active: p.Active, CreatedAt: console.Stamp(p.CreatedAt),
	}
}

// maxQuantity returns the highest quantity, as text.
func (r productRow) maxQuantity() string {
	if r.MaxQuantity == 0 {
		return "any"
	}
	return strconv.Itoa(r.MaxQuantity)
}

// forSale returns "yes" if the product is for sale, and "no" otherwise.
func (r productRow) forSale() string {
	if r.Active {
		return "yes"
	}
	return "no"
}

func writeProduct(w io.Writer, row productRow) {
	console.WriteFields(w, [][2]string{
		{"product", row.URL}, {"mode", string(row.Mode)}, {"name", row.Name}, {"description", row.Description},
		{"price", console.Fiat(row.Price, row.Currency)}, {"highest quantity", row.maxQuantity()}, {"asks for order reference", string(row.AskOrderID)},
		{"asks for note", string(row.AskNote)}, {"for sale", row.forSale()},
	})
}

// productFlags is a product as the flags describe it.
type productFlags struct {
	merchant.Product
	price, currency     string
	askOrderID, askNote string
	methods             []string
}

// add adds the flags of the fields that can be changed.
func (p *productFlags) add(c *cobra.Command) {
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

// complete parses the flags into the product, except its price.
func (p *productFlags) complete(call invocation) (err error) {
	p.Slug, p.MerchantID = call.args[0], call.shop.ID
	p.AskOrderID, p.AskNote = merchant.Requirement(p.askOrderID), merchant.Requirement(p.askNote)
	if p.Mode, err = call.mode(); err == nil {
		p.Methods, err = call.methods(p.Mode, p.methods)
	}
	return err
}

// apply copies the fields whose flags were given to another product.
func (p *productFlags) apply(call invocation, to *merchant.Product) (err error) {
	price, currency := to.Price.String(), to.Price.Currency().Code
	call.applyFlags(map[string]func(){
		"name": func() { to.Name = p.Name }, "description": func() { to.Description = p.Description },
		"price": func() { price = p.price }, "currency": func() { currency = p.currency },
		"max-quantity": func() { to.MaxQuantity = p.MaxQuantity }, "active": func() { to.Active = p.Active },
		"ask-order-id": func() { to.AskOrderID = p.AskOrderID }, "ask-note": func() { to.AskNote = p.AskNote },
		"methods": func() { to.Methods = p.Methods },
	})
	to.Price, err = call.core.Products.Price(price, currency)
	return err
}

func (s *shell) productAdd() *cobra.Command {
	var p productFlags
	c := &cobra.Command{
		Use:     "add SLUG",
		Short:   "Create a product; its page is /shop/SLUG",
		Example: "  chequer product add coffee --name \"Filter coffee\" --price 3.50 --max-quantity 20",
		Args:    console.Arguments,
		RunE: answer(s, func(call invocation) (row productRow, err error) {
			if err := p.complete(call); err != nil {
				return row, err
			}
			if p.Price, err = call.core.Products.Price(p.price, p.currency); err != nil {
				return row, err
			}
			created, err := call.core.Products.Create(call.Context(), p.Product)
			switch {
			case errors.Is(err, merchant.ErrExists):
				err = fmt.Errorf("there is a product %s already: chequer product change %s changes it", p.Slug, p.Slug)
			case errors.Is(err, merchant.ErrTooMany):
				err = fmt.Errorf("there are already %d products, which is the maximum: chequer product remove removes one", merchant.MaxProducts)
			}
			return newProductRow(call.cfg, created), err
		}, writeProduct),
	}
	p.add(c)
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
		Args:  console.Arguments,
		RunE: answer(s, func(call invocation) (productRow, error) {
			if err := p.complete(call); err != nil {
				return productRow{}, err
			}
			changed, err := call.core.Products.Change(call.Context(), call.shop.ID, p.Mode, p.Slug, func(old *merchant.Product) error { return p.apply(call, old) })
			if err != nil {
				return productRow{}, productError(call, "change", p.Mode, p.Slug, err)
			}
			return newProductRow(call.cfg, changed), nil
		}, writeProduct),
	}
	p.add(c)
	return c
}

// productError adds the verb, the product and a hint to an error for a missing product. It returns other
// errors unchanged.
func productError(call invocation, verb string, mode merchant.Mode, slug string, err error) error {
	if !errors.Is(err, merchant.ErrNotFound) {
		return err
	}
	other, _ := call.core.Products.Product(call.Context(), call.shop.ID, slug) // without it the hint is general
	return notFound(fmt.Errorf("%s %s product %s: %w", verb, mode, slug, err), "product", other.Mode)
}
