package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/skip2/go-qrcode"
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
	VATRate     string               `json:"vat_rate"` // percent; "" = not stated
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
		Price: p.Price.String(), Currency: p.Price.Currency().Code, VATRate: p.VAT.String(), MaxQuantity: p.MaxQuantity,
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

// vatRate returns the VAT rate, as text.
func (r productRow) vatRate() string {
	if r.VATRate == "" {
		return "not stated"
	}
	return r.VATRate + " %"
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
		{"price", console.Fiat(row.Price, row.Currency)}, {"includes VAT", row.vatRate()}, {"highest quantity", row.maxQuantity()}, {"asks for order reference", string(row.AskOrderID)},
		{"asks for note", string(row.AskNote)}, {"for sale", row.forSale()},
	})
}

// productFlags is a product as the flags describe it.
type productFlags struct {
	merchant.Product
	price, currency     string
	vatRate             string
	askOrderID, askNote string
	methods             []string
}

// add adds the flags of the fields that can be changed.
func (p *productFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&p.Name, "name", "", "name of the product")
	c.Flags().StringVar(&p.Description, "description", "", "description in one line")
	c.Flags().StringVar(&p.price, "price", "", "price of one piece, such as 12.50")
	c.Flags().StringVar(&p.currency, "currency", "EUR", "currency of the price")
	c.Flags().StringVar(&p.vatRate, "vat", "", "VAT rate in percent that the price includes, such as 19 or 7.7 (default \"\": not stated)")
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
	if p.VAT, err = merchant.ParseVATRate(p.vatRate); err != nil {
		return &merchant.FieldError{Field: "vat_rate", Fault: err.Error()}
	}
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
		"price": func() { price = p.price }, "currency": func() { currency = p.currency }, "vat": func() { to.VAT = p.VAT },
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
