package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skip2/go-qrcode"
	"github.com/spf13/cobra"

	"chequer/internal/api"
	"chequer/internal/app"
	"chequer/internal/console"
	"chequer/internal/durable"
	"chequer/internal/format"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/refundfile"
	"chequer/internal/wire"
)

// refund returns the group of commands about refunds.
func (s *shell) refund() *cobra.Command {
	return console.Group("refund", "Prepare refunds, which your own wallet pays, and record them", s.refundAdd(), s.refundList(),
		s.refundCommand("show REF", "Show a refund with its address, payment link and QR code", func(invocation, *invoice.Service, *invoice.Invoice, invoice.Refund) (*invoice.Invoice, error) {
			return nil, nil
		}),
		s.refundExport(),
		s.refundCommand("sent REF TX", "Record the transaction with which you paid a refund; for Lightning its payment hash", func(call invocation, service *invoice.Service, inv *invoice.Invoice, r invoice.Refund) (*invoice.Invoice, error) {
			return service.SendRefund(call.Context(), inv.ID, r.ID, call.args[1], commandName, inv.Version)
		}),
		s.pricedRefundCommand("renew REF", "Determine the amount in coins of a fiat refund again, at the current rate", func(call invocation, service *invoice.Service, inv *invoice.Invoice, r invoice.Refund) (*invoice.Invoice, error) {
			return service.RenewRefund(call.Context(), inv.ID, r.ID, commandName, inv.Version)
		}),
		s.refundCommand("check REF", "Confirm that you have looked at the trouble of a refund, which then needs no more attention", func(call invocation, service *invoice.Service, inv *invoice.Invoice, r invoice.Refund) (*invoice.Invoice, error) {
			return service.CheckRefund(call.Context(), inv.ID, r.ID, commandName, inv.Version)
		}),
		s.refundCancel())
}

// commandName is the actor of the decisions that are made by commands.
const commandName = "command"

// refundRow is a refund as it is printed.
type refundRow struct {
	InvoiceID string `json:"foreign_id"`
	OrderID   string `json:"order_id"`
	Currency  string `json:"client_currency"`
	api.Refund
}

// pricedInvoices returns the invoice service with current rates.
func (call invocation) pricedInvoices() (*invoice.Service, error) {
	isDemo, err := call.isDemo()
	if err != nil {
		return nil, err
	}
	return call.core.Invoices(call.Context(), call.cfg, app.Options{Log: newLogger(call.cfg), Demo: isDemo, FetchRates: true})
}

// rowOf returns the refund with the given ID of an invoice as a row.
func rowOf(service *invoice.Service, inv *invoice.Invoice, id string) (refundRow, error) {
	all := wire.Refunds(service, inv)
	i := slices.IndexFunc(all, func(r api.Refund) bool { return r.ID == id })
	if i < 0 {
		return refundRow{}, invoice.ErrNoRefund
	}
	return refundRow{inv.ID, inv.Terms.OrderID, inv.Terms.Price.Currency().Code, all[i]}, nil
}

// refundChange changes a refund and returns the changed invoice, or nil if it changes nothing.
type refundChange func(invocation, *invoice.Service, *invoice.Invoice, invoice.Refund) (*invoice.Invoice, error)

// refundCommand returns a command that makes a change of one refund and then shows the refund.
func (s *shell) refundCommand(use, short string, change refundChange) *cobra.Command {
	return s.refundCommandOf(use, short, invocation.invoices, change)
}

// pricedRefundCommand is refundCommand for a change that needs the current rates.
func (s *shell) pricedRefundCommand(use, short string, change refundChange) *cobra.Command {
	return s.refundCommandOf(use, short, invocation.pricedInvoices, change)
}

func (s *shell) refundCommandOf(use, short string, open func(invocation) (*invoice.Service, error), change refundChange) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: console.Arguments,
		RunE: answer(s, func(call invocation) (row refundRow, err error) {
			service, err := open(call)
			if err != nil {
				return row, err
			}
			inv, r, err := service.Refund(call.Context(), call.shop.ID, call.args[0])
			if err != nil {
				return row, fmt.Errorf("%s: %w; chequer refund list shows all", call.args[0], err)
			}
			newer, err := change(call, service, inv, r)
			if err != nil {
				return row, fmt.Errorf("%s refund %s: %w", call.Name(), r.ID, err)
			}
			if newer != nil {
				inv = newer
			}
			return rowOf(service, inv, r.ID)
		}, s.writeRefund),
	}
}

func (s *shell) refundCancel() *cobra.Command {
	var reason string
	c := s.refundCommand("cancel REF", "Withdraw a refund that you have not paid", func(call invocation, service *invoice.Service, inv *invoice.Invoice, r invoice.Refund) (*invoice.Invoice, error) {
		return service.CancelRefund(call.Context(), inv.ID, r.ID, commandName, reason, inv.Version)
	})
	c.Flags().StringVar(&reason, "reason", "", "why, for your own records")
	return c
}

// refundFlags is a refund as the flags describe it.
type refundFlags struct{ kind, currency, amount, fiat, address string }

func (s *shell) refundAdd() *cobra.Command {
	var f refundFlags
	var again bool
	c := &cobra.Command{
		Use:   "add INVOICE|ORDER",
		Short: "Prepare a refund, which your own wallet pays",
		Long: `Prepares a refund of money that an invoice received. Without --address it uses the address that the shopper gave on the
payment page, or waits for it. Never refund to the address that paid: exchanges send from shared addresses.`,
		Example: "  chequer refund add 1042 --kind received\n  chequer refund add 1042 --kind part --fiat 12.50 --currency EURC-BASE",
		Args:    console.Arguments,
		RunE: answer(s, func(call invocation) (row refundRow, err error) {
			if err := checkWord("kind", f.kind, invoice.RefundKinds); err != nil {
				return row, err
			}
			service, err := call.pricedInvoices()
			if err != nil {
				return row, err
			}
			inv, err := namedInvoice(call, service, call.args[0])
			if err != nil {
				return row, err
			}
			d, err := f.draft(service.Evaluation(inv).Balances(), inv.Terms.Price.Currency())
			if err != nil {
				return row, err
			}
			d.By, d.Again, d.Seen = commandName, again, inv.Version
			inv, made, err := service.CreateRefund(call.Context(), inv.ID, d)
			if errors.Is(err, invoice.ErrRefundExists) {
				return row, fmt.Errorf("%w; --again prepares another one", err)
			}
			if err != nil {
				return row, fmt.Errorf("prepare refund: %w", err)
			}
			return rowOf(service, inv, made.ID)
		}, s.writeRefund),
	}
	c.Flags().StringVar(&f.kind, "kind", string(invoice.RefundReceived), "received: all that is not refunded yet; surplus: what is above the price; part: an amount")
	c.Flags().StringVar(&f.currency, "currency", "", "payment method of the money, such as EURC-BASE; needed if the invoice received several")
	c.Flags().StringVar(&f.amount, "amount", "", "amount of a part, in coins")
	c.Flags().StringVar(&f.fiat, "fiat", "", "amount of a part, in the currency of the invoice, at the current rate")
	c.Flags().StringVar(&f.address, "address", "", "address of the shopper's wallet (default the one that the shopper gave)")
	c.Flags().BoolVar(&again, "again", false, "allow another refund of the same kind and amount")
	return c
}

// draft returns the refund that the flags describe, for an invoice with the given balances and currency.
func (f refundFlags) draft(balances []invoice.Balance, fiat money.Currency) (d invoice.RefundDraft, err error) {
	d = invoice.RefundDraft{Kind: invoice.RefundKind(f.kind), Asset: f.currency, Address: f.address}
	if len(balances) == 0 {
		return d, invoice.ErrNothingReceived
	}
	codes := convertAll(balances, func(b invoice.Balance) string { return b.Asset })
	if d.Asset == "" && len(balances) == 1 {
		d.Asset = codes[0]
	}
	i := slices.Index(codes, d.Asset)
	isPart, given := d.Kind == invoice.RefundPart, f.amount != "" || f.fiat != ""
	switch {
	case i < 0:
		return d, fmt.Errorf("--currency must be one of those that the invoice received: %s", strings.Join(codes, ", "))
	case !isPart && given:
		return d, errors.New("--amount and --fiat need --kind part")
	case isPart && (!given || f.amount != "" && f.fiat != ""):
		return d, errors.New("--kind part needs either --amount or --fiat")
	}
	if f.amount != "" {
		if d.Amount, err = money.Parse(f.amount, balances[i].Received.Currency()); err != nil {
			return d, fmt.Errorf("--amount: %w", err)
		}
	}
	if f.fiat != "" {
		if d.Fiat, err = money.Parse(f.fiat, fiat); err != nil {
			return d, fmt.Errorf("--fiat: %w", err)
		}
	}
	return d, nil
}

func (s *shell) refundList() *cobra.Command {
	var state string
	var limit int
	c := list(s, "list", "List refunds, newest first", func(call invocation) ([]refundRow, error) {
		if err := checkFlag("state", state, invoice.RefundStates); err != nil {
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
		filter := invoice.RefundFilter{MerchantID: call.shop.ID, Mode: invoice.Mode(mode), State: invoice.RefundState(state)}
		refunds, err := service.Refunds(call.Context(), filter, invoice.Position{}, limit)
		return convertAll(refunds, func(l invoice.ListedRefund) refundRow {
			return refundRow{l.InvoiceID, l.OrderID, l.Value.Currency().Code, wire.Refund(service, l.Refund)}
		}), err
	}, "ASKED\tREF\tORDER\tAMOUNT\tVALUE\tSTATE\tTROUBLE\tADDRESS", func(r refundRow) []any {
		return []any{s.Time(r.AskedAt), r.ID, r.OrderID, r.Amount + " " + r.CryptoCurrency, r.value(), r.State, cmp.Or(r.Trouble, "–"), r.Address}
	})
	testFlag(c, "refunds of test invoices")
	c.Flags().StringVar(&state, "state", "", "only refunds in this state: "+strings.Join(convertAll(invoice.RefundStates, func(s invoice.RefundState) string { return string(s) }), ", "))
	c.Flags().IntVar(&limit, "limit", 50, "maximum number of refunds")
	return c
}

// value returns the value of a refund in fiat; "" if it is not known.
func (r refundRow) value() string {
	if r.Rate == "" {
		return ""
	}
	return console.Fiat(r.FiatAmount, r.Currency)
}

// writeRefund prints a refund and, while it can be paid, the QR code of its payment link.
func (s *shell) writeRefund(w io.Writer, r refundRow) {
	console.WriteFields(w, slices.DeleteFunc([][2]string{
		{"ref", r.ID}, {"invoice", r.InvoiceID}, {"order", r.OrderID}, {"state", r.State}, {"trouble", r.Trouble}, {"amount", r.Amount + " " + r.CryptoCurrency},
		{"value", r.value()}, {"held until", s.Time(r.HeldUntil)}, {"network", r.NetworkName}, {"address", r.Address},
		{"link", r.PaymentURI}, {"transaction", r.Tx}, {"sent", s.Time(r.SentAt)}, {"reason", console.OneLine(r.Reason)},
	}, func(field [2]string) bool { return field[1] == "" }))
	switch {
	case r.Trouble != "":
		fmt.Fprintf(w, "Look at the transaction. chequer refund check %s confirms that you have.\n", r.ID)
	case r.PaymentURI != "":
		if code, err := qrcode.New(r.PaymentURI, qrcode.Medium); err == nil {
			fmt.Fprintf(w, "\n%s\n", code.ToSmallString(false))
		}
	case r.State == string(invoice.RefundAsked):
		fmt.Fprintln(w, "The refund waits for the address, which the shopper gives on the payment page of the invoice.")
	case r.State == string(invoice.RefundReady):
		fmt.Fprintln(w, "The refund must not be paid now. Either its amount is not valid any more (chequer refund renew determines it again), or a payment was reverted, or its payment request has ended.")
	}
}

// exportedFile is a file of refunds as it is printed.
type exportedFile struct {
	Name    string `json:"file"`
	Refunds int    `json:"refunds"`
	Sum     string `json:"amount"` // "" if the file has several currencies
}

func (s *shell) refundExport() *cobra.Command {
	var wallet, unit, directory string
	c := &cobra.Command{
		Use:   "export REF…",
		Short: "Write files with which Electrum, Sparrow, Bitcoin Core or a spreadsheet pay many refunds",
		Long: fmt.Sprintf(`Writes the refunds that are ready into files for one wallet, at most %d in a file. Nothing is marked as sent: refund sent
records the transaction of each. Pay a file once.`, refundfile.MaxRefunds),
		Example: "  chequer refund export --for electrum ref_1 ref_2\n  chequer refund export --for core ref_1",
		Args:    console.Arguments,
		RunE: answer(s, func(call invocation) ([]exportedFile, error) {
			if err := checkWord("format", wallet, refundfile.Formats); err != nil {
				return nil, err
			}
			refunds, err := call.payable(call.args)
			if err != nil {
				return nil, err
			}
			files, err := refundfile.Write(refundfile.Format(wallet), unit, refunds)
			if err != nil {
				return nil, err
			}
			return writeRefunds(directory, files)
		}, func(w io.Writer, files []exportedFile) {
			for _, f := range files {
				fmt.Fprintf(w, "%s  %s\n", f.Name, strings.TrimSuffix(format.Plural(f.Refunds, "refund")+", "+f.Sum, ", "))
			}
			fmt.Fprintln(w, exportAdvice(refundfile.Format(wallet), cmp.Or(unit, "coins")))
		}),
	}
	c.Flags().StringVar(&wallet, "for", string(refundfile.CSV), "electrum, sparrow, core (Bitcoin Core, Litecoin Core) or csv")
	c.Flags().StringVar(&unit, "unit", "", "unit of the amounts, which must be that of the wallet's settings: BTC, LTC or sat (default the coin)")
	c.Flags().StringVar(&directory, "directory", ".", "where the files are written")
	return c
}

// exportAdvice returns the next steps of the merchant with a file for a wallet.
func exportAdvice(to refundfile.Format, unit string) string {
	switch to {
	case refundfile.Electrum:
		return "Set Electrum's base unit to " + unit + " first, then load the file with Tools, Pay to many. Compare the sum."
	case refundfile.Sparrow:
		return "Set Sparrow's unit to " + unit + " first, then load the file with Tools, Send To Many. It leaves out rows that it cannot read: compare the count and the sum."
	case refundfile.Core:
		return `Pay a file with sendmany "" "$(cat FILE)", or make a transaction to sign with walletcreatefundedpsbt "[]" "$(cat FILE)".`
	}
	return "The column payment_uri has the link for a wallet."
}

// payable returns the refunds with the given IDs. It returns an error if one of them must not be paid now.
func (call invocation) payable(ids []string) ([]refundfile.Refund, error) {
	service, err := call.invoices()
	if err != nil {
		return nil, err
	}
	var list []refundfile.Refund
	var mode invoice.Mode
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			return nil, fmt.Errorf("%s is named twice", id)
		}
		inv, r, err := service.Refund(call.Context(), call.shop.ID, id)
		if err != nil {
			return nil, fmt.Errorf("%s: %w; chequer refund list --state ready shows those that can be paid", id, err)
		}
		row, err := rowOf(service, inv, id)
		switch {
		case err != nil:
			return nil, err
		case row.PaymentURI == "":
			return nil, fmt.Errorf("%s cannot be paid now; chequer refund show %s shows the reason", id, id)
		case mode != "" && mode != inv.Mode:
			return nil, fmt.Errorf("%s is a %s refund, the others are not", id, merchant.Mode(inv.Mode))
		}
		mode = inv.Mode
		asset, _ := service.KnownAsset(r.Network, r.Asset)
		list = append(list, refundfile.Refund{ID: r.ID, Name: cmp.Or(inv.Terms.OrderID, inv.ID), Asset: asset, Address: r.Address, Amount: r.Amount, URI: row.PaymentURI})
	}
	return list, nil
}

// writeRefunds writes files of refunds into a directory.
func writeRefunds(directory string, files []refundfile.File) ([]exportedFile, error) {
	contents := convertAll(files, func(f refundfile.File) newFile { return newFile{f.Name, f.Content} })
	paths, err := writeFiles(directory, contents, "if its refunds are not paid")
	if err != nil {
		return nil, err
	}
	written := make([]exportedFile, len(files))
	for i, f := range files {
		written[i] = exportedFile{Name: paths[i], Refunds: len(f.Refunds)}
		if !f.Sum.IsZero() {
			written[i].Sum = f.Sum.String() + " " + f.Sum.Currency().Code
		}
	}
	return written, nil
}

// newFile is a file that is written.
type newFile struct {
	name    string
	content []byte
}

// writeFiles writes files into a directory, and returns their paths. It writes none if one of them exists; condition completes the advice
// to remove it.
func writeFiles(directory string, files []newFile, condition string) ([]string, error) {
	paths := convertAll(files, func(f newFile) string { return filepath.Join(directory, f.name) })
	for _, path := range paths {
		if _, err := os.Lstat(path); err == nil {
			return nil, errors.New(strings.TrimSpace(path + " exists already: name another --directory, or remove it " + condition))
		}
	}
	for i, f := range files {
		if err := durable.Replace(paths[i], f.content); err != nil {
			return nil, err
		}
	}
	return paths, nil
}
