package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"chequer/internal/api"
	"chequer/internal/console"
	"chequer/internal/invoice"
	"chequer/internal/wire"
)

// invoice returns the group of commands about invoices.
func (s *shell) invoice() *cobra.Command {
	return console.Group("invoice", "List, show, cancel and accept invoices", s.invoiceList(),
		s.invoiceCommand("show ID|ORDER", "Show an invoice with its payments, by its identifier or its order_id", namedInvoice),
		s.invoiceCommand("cancel ID", "Cancel an invoice that has no payment, or only a part of its price", func(call invocation, service *invoice.Service, id string) (*invoice.Invoice, error) {
			return service.Cancel(call.Context(), id, 0) // 0: any version
		}),
		s.invoiceCommand("accept ID", "Accept the payments of an invoice as its full price", func(call invocation, service *invoice.Service, id string) (*invoice.Invoice, error) {
			return service.Accept(call.Context(), id, "command", 0) // 0: any version
		}))
}

// invoiceCommand returns a command that finds or changes one invoice, and prints it.
func (s *shell) invoiceCommand(use, short string, do func(invocation, *invoice.Service, string) (*invoice.Invoice, error)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: console.Arguments,
		RunE: answer(s, func(call invocation) (r api.Resource, err error) {
			service, err := call.invoices()
			if err != nil {
				return r, err
			}
			inv, err := do(call, service, call.args[0])
			if err != nil {
				return r, fmt.Errorf("%s invoice: %w", call.Name(), err)
			}
			return wire.Resource(service, inv, nil), nil
		}, s.writeInvoice),
	}
}

func (s *shell) invoiceList() *cobra.Command {
	var status, order, address, from, to string
	var limit int
	c := list(s, "list", "List invoices, newest first", func(call invocation) ([]api.Resource, error) {
		if err := checkFlag("status", status, []string{api.StatusCreated, api.StatusPending, api.StatusPaid, api.StatusExpired, api.StatusDeclined}); err != nil {
			return nil, err
		}
		service, err := call.invoices()
		if err != nil {
			return nil, err
		}
		mode, err := call.mode()
		if err != nil {
			return nil, err
		}
		f := invoice.Filter{MerchantID: call.shop.ID, Mode: invoice.Mode(mode), Status: invoice.Status(status), OrderID: order}
		if f.From, err = s.ParseDay("from", from); err != nil {
			return nil, err
		}
		if f.To, err = s.ParseDay("to", to); err != nil {
			return nil, err
		}
		if address != "" {
			f.Scripts = service.Scripts(f.Mode, address)
		}
		invoices, err := invoice.ReadPages(call.Context(), service.Invoices, f, invoice.Position{}, limit)
		return convertAll(invoices, func(inv *invoice.Invoice) api.Resource { return wire.Resource(service, inv, nil) }), err
	}, "CREATED\tID\tORDER\tAMOUNT\tPAID\tSTATUS\tPRODUCT\tQUANTITY\tDESCRIPTION\tNOTE", func(r api.Resource) []any {
		return []any{s.Time(r.CreatedAt), r.ForeignID, r.OrderID, fiat(r, r.ClientAmount), fiat(r, r.PaidAmount), statusText(r),
			r.Metadata[api.MetadataProduct], r.Metadata[api.MetadataQuantity], console.OneLine(r.Description), console.OneLine(r.Metadata[api.MetadataNote])}
	})
	testFlag(c, "test invoices")
	c.Flags().StringVar(&status, "status", "", "only invoices in this status: created, pending, paid, expired or declined")
	c.Flags().StringVar(&order, "order", "", "only invoices with this order_id")
	c.Flags().StringVar(&address, "address", "", "only the invoice that has this address")
	c.Flags().StringVar(&from, "from", "", "only invoices created on this day or later, such as 2026-11-27")
	c.Flags().StringVar(&to, "to", "", "only invoices created before this day")
	c.Flags().IntVar(&limit, "limit", 50, "maximum number of invoices")
	return c
}

// maxMatches bounds the number of invoices of an order that an error lists.
const maxMatches = 10

// invoice returns the invoice of the shop with an identifier, or invoice.ErrNotFound.
func (call invocation) invoice(service *invoice.Service, id string) (*invoice.Invoice, error) {
	inv, err := service.Invoice(call.Context(), id)
	if err == nil && inv.MerchantID != call.shop.ID {
		return nil, invoice.ErrNotFound
	}
	return inv, err
}

// namedInvoice returns the invoice with an identifier, or else the only invoice of an order, live or
// test. If an order has several, the error lists them.
func namedInvoice(call invocation, service *invoice.Service, name string) (*invoice.Invoice, error) {
	inv, err := call.invoice(service, name)
	if !errors.Is(err, invoice.ErrNotFound) {
		return inv, err
	}
	var matches []*invoice.Invoice
	for _, mode := range modes {
		list, _, err := service.Invoices(call.Context(), invoice.Filter{MerchantID: call.shop.ID, Mode: mode, OrderID: name}, invoice.Position{}, maxMatches)
		if err != nil {
			return nil, err
		}
		matches = append(matches, list...)
	}
	switch len(matches) {
	case 0:
		return nil, err
	case 1:
		return matches[0], nil
	}
	var text strings.Builder
	for _, inv := range matches {
		fmt.Fprintf(&text, "\n  %s  %s, %s, %s", inv.ID, console.Fiat(inv.Terms.Price.String(), inv.Terms.Price.Currency().Code), inv.Mode, inv.State.Status)
	}
	return nil, fmt.Errorf("the order has several invoices; use the identifier of one of them:%s", &text)
}

func (s *shell) writeInvoice(w io.Writer, r api.Resource) {
	fields := slices.DeleteFunc([][2]string{
		{"id", r.ForeignID}, {"order", r.OrderID}, {"mode", r.Mode}, {"status", statusText(r)},
		{"amount", fiat(r, r.ClientAmount)}, {"includes VAT", vat(r)}, {"paid", fiat(r, r.PaidAmount)}, {"due", fiat(r, r.DueAmount)}, {"overpaid", fiat(r, r.OverpaidAmount)},
		{"tolerance", fiat(r, positive(r.ToleranceAmount))}, {"accepted", s.accepted(r)},
		{"created", s.Time(r.CreatedAt)}, {"held until", s.Time(r.ExpiredAt)}, {"paid at", s.Time(r.PaidAt)},
		{"refund to", strings.TrimSpace(r.RefundCurrency + " " + r.RefundAddress)},
		{"description", console.OneLine(r.Description)},
	}, func(field [2]string) bool { return field[1] == "" })
	fields = append(fields, metadata(r)...)
	for _, p := range r.Payments {
		fields = append(fields, [2]string{"payment", fmt.Sprintf("%s %s, %s %d of %d, %s", p.Amount, p.CryptoCurrency, p.State, p.Confirmations, p.Required, p.Tx)})
	}
	for _, f := range r.Refunds {
		fields = append(fields, [2]string{"refund", strings.TrimSuffix(fmt.Sprintf("%s %s, %s, %s", f.Amount, f.CryptoCurrency, f.State, f.Tx), ", ")})
	}
	if k := r.KeptSurplus; k.At != "" {
		fields = append(fields, [2]string{"surplus kept", fmt.Sprintf("%s by %s, %s", fiat(r, k.Amount), k.Actor, s.Time(k.At))})
	}
	console.WriteFields(w, fields)
}

// fiat returns an amount in the currency of an invoice; "" for "".
func fiat(r api.Resource, amount string) string { return console.Fiat(amount, r.ClientCurrency) }

// vat describes the VAT that the price includes; "" if no rate is stated.
func vat(r api.Resource) string {
	if r.VATRate == "" {
		return ""
	}
	return fmt.Sprintf("%s at %s %%, %s without", fiat(r, r.VATAmount), r.VATRate, fiat(r, r.NetAmount))
}

// pageMetadata are the titles of the entries of an invoice's metadata that its pages write.
var pageMetadata = map[string]string{
	api.MetadataProduct: "product", api.MetadataQuantity: "quantity", api.MetadataUnitPrice: "unit price", api.MetadataNote: "note",
	api.MetadataTerminal: "terminal", api.MetadataOrderReference: "order reference", api.MetadataOrderIDFrom: "order id from",
}

// metadata returns the lines of an invoice's metadata: first the entries that its pages write, then the
// others.
func metadata(r api.Resource) (lines [][2]string) {
	var others [][2]string
	for _, name := range slices.Sorted(maps.Keys(r.Metadata)) {
		value := console.OneLine(r.Metadata[name])
		if name == api.MetadataUnitPrice {
			value = fiat(r, value)
		}
		if title, known := pageMetadata[name]; known {
			lines = append(lines, [2]string{title, value})
		} else {
			others = append(others, [2]string{"metadata " + name, value})
		}
	}
	return append(lines, others...)
}

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
	return fmt.Sprintf("%s by %s, %s missing", s.Time(r.Accepted.At), r.Accepted.Actor, fiat(r, r.Accepted.Shortfall))
}

// statusText returns a status with its exceptions.
func statusText(r api.Resource) string {
	return strings.Join(append([]string{r.Status}, r.Exceptions...), " ")
}
