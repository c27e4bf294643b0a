package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"chequer/internal/api"
	"chequer/internal/app"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/wire"
)

// invoice returns the group of commands about invoices.
func (s *shell) invoice() *cobra.Command {
	c := group("invoice", "List, show, cancel and accept invoices")
	c.AddCommand(s.invoiceList(), s.invoiceShow(),
		s.invoiceDecide("cancel ID", "Cancel an invoice that nothing, or only a part, was seen for", (*invoice.Service).Cancel),
		s.invoiceDecide("accept ID", "Let the payments that are there stand for the full price", func(service *invoice.Service, ctx context.Context, id string) (*invoice.Invoice, error) {
			return service.Accept(ctx, id, "command")
		}))
	return c
}

// invoices opens the storage and the invoice service. The caller must close the core.
func (s *shell) invoices(c *cobra.Command) (*app.Core, *invoice.Service, merchant.Merchant, error) {
	cfg, core, shop, err := s.shop(c)
	if err != nil {
		return nil, nil, shop, err
	}
	service, err := core.Invoices(c.Context(), cfg, app.Options{Log: newLogger(cfg)})
	if err != nil {
		core.Close()
		return nil, nil, shop, err
	}
	return core, service, shop, nil
}

func (s *shell) invoiceList() *cobra.Command {
	var status, order, address, from, to string
	var limit int
	c := &cobra.Command{
		Use:   "list",
		Short: "List invoices, newest first",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			core, service, shop, err := s.invoices(c)
			if err != nil {
				return err
			}
			defer core.Close()
			if err := checkStatus(status); err != nil {
				return err
			}
			mode, err := mode(c, core, shop.ID)
			if err != nil {
				return err
			}
			f := invoice.Filter{MerchantID: shop.ID, Mode: invoice.Mode(mode), Status: invoice.Status(status), OrderID: order}
			if f.From, err = s.day("from", from); err != nil {
				return err
			}
			if f.To, err = s.day("to", to); err != nil {
				return err
			}
			list, err := findInvoices(c.Context(), service, f, address, limit)
			if err != nil {
				return err
			}
			rows := make([]api.Resource, len(list))
			for i, inv := range list {
				rows[i] = wire.Resource(service, inv, nil)
			}
			return s.print(c, rows, func(w io.Writer) { s.listInvoices(w, rows) })
		},
	}
	testFlag(c, "test invoices")
	c.Flags().StringVar(&status, "status", "", "only invoices in this status: created, pending, paid, expired or declined")
	c.Flags().StringVar(&order, "order", "", "only invoices with this order_id")
	c.Flags().StringVar(&address, "address", "", "only the invoice that has this address")
	c.Flags().StringVar(&from, "from", "", "only invoices created on this day or later, such as 2026-11-27")
	c.Flags().StringVar(&to, "to", "", "only invoices created before this day")
	c.Flags().IntVar(&limit, "limit", 50, "maximum number of invoices")
	return c
}

// findInvoices lists the invoices that match a filter; if an address is given, only the invoice among
// them that has it.
func findInvoices(ctx context.Context, service *invoice.Service, f invoice.Filter, address string, limit int) ([]*invoice.Invoice, error) {
	if address != "" {
		return service.InvoicesTo(ctx, f, address)
	}
	return service.Invoices(ctx, f, invoice.Position{}, max(limit, 0))
}

// checkStatus returns an error for an unknown status.
func checkStatus(status string) error {
	words := []string{api.StatusCreated, api.StatusPending, api.StatusPaid, api.StatusExpired, api.StatusDeclined}
	if status == "" || slices.Contains(words, status) {
		return nil
	}
	return fmt.Errorf("there is no status %q; there are %s", status, strings.Join(words, ", "))
}

// day parses a flag's day, which begins in the zone of printed times. An empty text is the zero
// time.
func (s *shell) day(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.ParseInLocation(time.DateOnly, text, s.zone)
	if err != nil {
		return at, fmt.Errorf("--%s must be a day such as 2026-11-27", name)
	}
	return at, nil
}

func (s *shell) listInvoices(w io.Writer, rows []api.Resource) {
	table(w, "MADE\tID\tORDER\tAMOUNT\tPAID\tSTATUS\tPRODUCT\tQUANTITY\tDESCRIPTION\tNOTE", rows, func(r api.Resource) []any {
		return []any{s.when(r.CreatedAt), r.ForeignID, r.OrderID, r.ClientAmount + " " + r.ClientCurrency, r.PaidAmount, statusText(r),
			r.Metadata[api.MetadataProduct], r.Metadata[api.MetadataQuantity], oneLine(r.Description), oneLine(r.Metadata[api.MetadataNote])}
	})
}

func (s *shell) invoiceShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show ID|ORDER",
		Short: "Show an invoice with its payments, by its identifier or its order_id",
		Args:  arguments,
		RunE: func(c *cobra.Command, args []string) error {
			core, service, shop, err := s.invoices(c)
			if err != nil {
				return err
			}
			defer core.Close()
			inv, err := named(c.Context(), service, shop.ID, args[0])
			if err != nil {
				return fmt.Errorf("show invoice: %w", err)
			}
			return s.printInvoice(c, wire.Resource(service, inv, nil))
		},
	}
}

// maxMatches bounds the number of invoices of an order that an error lists.
const maxMatches = 10

// named returns the invoice with an identifier, or else the only invoice of an order, live or test.
// If an order has several, the error lists them.
func named(ctx context.Context, service *invoice.Service, merchantID, name string) (*invoice.Invoice, error) {
	inv, err := service.Invoice(ctx, name)
	if !errors.Is(err, invoice.ErrNotFound) {
		return inv, err
	}
	var all []*invoice.Invoice
	for _, mode := range []invoice.Mode{invoice.Live, invoice.Test} {
		list, err := service.Invoices(ctx, invoice.Filter{MerchantID: merchantID, Mode: mode, OrderID: name}, invoice.Position{}, maxMatches)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	switch len(all) {
	case 0:
		return nil, err
	case 1:
		return all[0], nil
	}
	var text strings.Builder
	for _, inv := range all {
		fmt.Fprintf(&text, "\n  %s  %s %s, %s, %s", inv.ID, inv.Terms.Price, inv.Terms.Price.Currency().Code, inv.Mode, inv.State.Status)
	}
	return nil, fmt.Errorf("the order has several invoices, name one by its identifier:%s", &text)
}

// invoiceDecide returns a command that decides about one invoice.
func (s *shell) invoiceDecide(use, short string, decide func(*invoice.Service, context.Context, string) (*invoice.Invoice, error)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: arguments,
		RunE: func(c *cobra.Command, args []string) error {
			core, service, _, err := s.invoices(c)
			if err != nil {
				return err
			}
			defer core.Close()
			inv, err := decide(service, c.Context(), args[0])
			if err != nil {
				return fmt.Errorf("%s invoice: %w", c.Name(), err)
			}
			return s.printInvoice(c, wire.Resource(service, inv, nil))
		},
	}
}

func (s *shell) printInvoice(c *cobra.Command, r api.Resource) error {
	return s.print(c, r, func(w io.Writer) {
		lines := slices.DeleteFunc([][2]string{
			{"id", r.ForeignID}, {"order", r.OrderID}, {"mode", r.Mode}, {"status", statusText(r)},
			{"amount", r.ClientAmount + " " + r.ClientCurrency}, {"paid", r.PaidAmount}, {"due", r.DueAmount}, {"overpaid", r.OverpaidAmount},
			{"tolerance", positive(r.ToleranceAmount)}, {"accepted", s.accepted(r)},
			{"made", s.when(r.CreatedAt)}, {"held until", s.when(r.ExpiredAt)}, {"paid at", s.when(r.PaidAt)},
			{"refund to", strings.TrimSpace(r.RefundCurrency + " " + r.RefundAddress)},
			{"description", oneLine(r.Description)},
		}, func(line [2]string) bool { return line[1] == "" })
		lines = append(lines, metadata(r)...)
		for _, p := range r.Payments {
			lines = append(lines, [2]string{"payment", fmt.Sprintf("%s %s, %s %d of %d, %s", p.Amount, p.CryptoCurrency, p.State, p.Confirmations, p.Required, p.Tx)})
		}
		table(w, "", lines, func(line [2]string) []any { return []any{line[0], line[1]} })
	})
}

// pageMetadata are the titles of the entries of an invoice's metadata that its pages write.
var pageMetadata = map[string]string{
	api.MetadataProduct: "product", api.MetadataQuantity: "quantity", api.MetadataUnitPrice: "unit price", api.MetadataNote: "note",
	api.MetadataTerminal: "terminal", api.MetadataOrderReference: "order reference", api.MetadataOrderIDFrom: "order id from",
}

// metadata returns the lines of an invoice's metadata: first the entries of pages, then those of
// the caller of the API.
func metadata(r api.Resource) (lines [][2]string) {
	var others [][2]string
	for _, name := range slices.Sorted(maps.Keys(r.Metadata)) {
		if title, known := pageMetadata[name]; known {
			lines = append(lines, [2]string{title, oneLine(r.Metadata[name])})
		} else {
			others = append(others, [2]string{"metadata " + name, oneLine(r.Metadata[name])})
		}
	}
	return append(lines, others...)
}

// oneLine returns a text with its whitespace, including line breaks, replaced by single spaces.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// positive returns an amount, or "" for zero.
func positive(amount string) string {
	if amount == "0" {
		return ""
	}
	return amount
}

// accepted describes when and by which key or command the merchant accepted the invoice, and how
// much was missing; "" if it was not accepted.
func (s *shell) accepted(r api.Resource) string {
	if r.Accepted.At == "" {
		return ""
	}
	return fmt.Sprintf("%s by %s, %s %s missing", s.when(r.Accepted.At), r.Accepted.Actor, r.Accepted.Shortfall, r.ClientCurrency)
}

// statusText returns a status with its exceptions.
func statusText(r api.Resource) string {
	return strings.Join(append([]string{r.Status}, r.Exceptions...), " ")
}
