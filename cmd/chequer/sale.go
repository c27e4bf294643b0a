package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"chequer/internal/console"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/sale"
)

// sale returns the group of commands about selling received coins for euro.
func (s *shell) sale() *cobra.Command {
	c := console.Group("sale", "Sell received coins for euro on your own exchange account, and show the sales",
		s.saleAdd(),
		s.exchangeCommand("show", "Show the exchange account and what is sold there", func(call invocation, a *sale.Accounts) (merchant.ExchangeAccount, error) {
			return a.Account(call.Context(), call.shop.ID)
		}),
		s.saleSet(),
		s.exchangeCommand("on", "Sell the coins of new invoices, and continue waiting sales", func(call invocation, a *sale.Accounts) (merchant.ExchangeAccount, error) {
			return a.Switch(call.Context(), call.shop.ID, true)
		}),
		s.exchangeCommand("off", "Stop selling; waiting sales keep waiting", func(call invocation, a *sale.Accounts) (merchant.ExchangeAccount, error) {
			return a.Switch(call.Context(), call.shop.ID, false)
		}),
		s.saleRemove(), s.saleList(), s.saleRetry(), s.saleSettle())
	c.Aliases = []string{"convert"}
	return c
}

// saleRow is a sale as it is printed.
type saleRow struct {
	InvoiceID string         `json:"foreign_id"`
	OrderID   string         `json:"order_id"`
	Status    string         `json:"status"`
	Coin      string         `json:"crypto_currency"`
	State     string         `json:"state"`
	Reason    string         `json:"reason"`
	Amount    string         `json:"amount"`
	Sold      string         `json:"sold_amount"`
	Rate      string         `json:"rate_eur"`
	Lowest    string         `json:"lowest_price"`
	Average   string         `json:"average_price"`
	Euro      string         `json:"euro_amount"`
	Fee       string         `json:"fee_amount"`
	Orders    []saleOrderRow `json:"orders"`
	CreatedAt string         `json:"created_at"`
	NextAt    string         `json:"next_at"`
}

// saleOrderRow is an order of a sale as it is printed.
type saleOrderRow struct {
	ID       string `json:"id"`
	Exchange string `json:"exchange"`
	Ref      string `json:"exchange_id"`
	State    string `json:"state"`
	Amount   string `json:"amount"`
	Limit    string `json:"limit_price"`
	Sold     string `json:"sold_amount"`
	Fault    string `json:"fault"`
	SentAt   string `json:"sent_at"`
}

func newSaleOrderRow(o invoice.SaleOrder) saleOrderRow {
	return saleOrderRow{
		ID: o.ID, Exchange: o.Exchange, Ref: o.Ref, State: string(o.State), Amount: o.Amount.String(), Limit: o.Limit.String(),
		Sold: o.Sold.String(), Fault: o.Fault, SentAt: console.Stamp(o.SentAt),
	}
}

// saleRows returns those sales of the invoices that are in a state, or all of them if the state is "".
func saleRows(invoices []sale.Listed, state invoice.SaleState) []saleRow {
	rows := []saleRow{}
	for _, inv := range invoices {
		for i := range inv.Sales {
			s := &inv.Sales[i]
			if state != "" && s.State != state {
				continue
			}
			proceeds := s.Sold()
			rows = append(rows, saleRow{
				InvoiceID: inv.ID, OrderID: inv.OrderID, Status: string(inv.Status), Coin: s.Coin, State: string(s.State), Reason: string(s.Reason),
				Amount: s.Amount.String(), Sold: proceeds.Sold.String(), Rate: s.Rate.Price(), Lowest: s.Lowest.String(), Average: s.Average(),
				Euro: proceeds.Euro.String(), Fee: proceeds.Fee.String(), Orders: convertAll(s.Orders, newSaleOrderRow), CreatedAt: console.Stamp(s.CreatedAt), NextAt: console.Stamp(s.NextAt),
			})
		}
	}
	return rows
}

// writeSales prints sales.
func writeSales(w io.Writer, rows []saleRow) {
	console.WriteTable(w, "INVOICE\tORDER\tSTATUS\tSELL\tSOLD\tPRICE\tEUR\tFEE\tSTATE", rows, func(r saleRow) []any {
		return []any{
			r.InvoiceID, r.OrderID, r.Status, r.Amount + " " + r.Coin, r.Sold, r.Average, r.Euro, r.Fee, strings.TrimSpace(r.State + " " + r.Reason),
		}
	})
}

// writeSaleOrders prints the sales of an invoice with their orders.
func (s *shell) writeSaleOrders(w io.Writer, rows []saleRow) {
	writeSales(w, rows)
	for _, r := range rows {
		if len(r.Orders) == 0 {
			continue
		}
		fmt.Fprintln(w)
		console.WriteTable(w, "ORDER OF "+r.Coin+"\tEXCHANGE\tEXCHANGE ORDER\tSENT\tAMOUNT\tAT LEAST\tSOLD\tSTATE\tNOTE", r.Orders, func(o saleOrderRow) []any {
			return []any{o.ID, o.Exchange, o.Ref, s.Time(o.SentAt), o.Amount, o.Limit, o.Sold, o.State, o.Fault}
		})
	}
}

func (s *shell) saleList() *cobra.Command {
	var state string
	var limit int
	runAll := answer(s, func(call invocation) ([]saleRow, error) {
		if err := checkFlag("state", state, invoice.SaleStates); err != nil {
			return nil, err
		}
		invoices, err := call.core.Storage.InvoicesWithSales(call.Context(), call.shop.ID, invoice.SaleState(state), max(limit, 0))
		return saleRows(invoices, invoice.SaleState(state)), err
	}, writeSales)
	runOne := s.saleOrders(func(call invocation, service *invoice.Service) (*invoice.Invoice, error) {
		inv, err := call.invoice(service, call.args[0])
		if err != nil {
			err = fmt.Errorf("list sales: %w", err)
		}
		return inv, err
	})
	c := &cobra.Command{
		Use:   "list [INVOICE]",
		Short: "List sales, newest first, or the sales of one invoice with their orders",
		Args:  console.Arguments,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				return runOne(c, args)
			}
			return runAll(c, args)
		},
	}
	c.Flags().StringVar(&state, "state", "", "only sales in this state: waiting, sending, filled, failed, settled or skipped")
	c.Flags().IntVar(&limit, "limit", 50, "maximum number of invoices")
	return c
}

// saleOrders returns the function of a command that prints the sales of an invoice with their orders.
func (s *shell) saleOrders(do func(invocation, *invoice.Service) (*invoice.Invoice, error)) func(*cobra.Command, []string) error {
	return answer(s, func(call invocation) ([]saleRow, error) {
		service, err := call.invoices()
		if err != nil {
			return nil, err
		}
		inv, err := do(call, service)
		if err != nil {
			return nil, err
		}
		return saleRows([]sale.Listed{sale.NewListed(inv)}, ""), nil
	}, s.writeSaleOrders)
}

// decideSale returns the function of a command that carries out the operator's decision about the sale
// of a coin. If coin is "", the invoice must have exactly one sale.
func (s *shell) decideSale(coin *string, decide func(call invocation, resolver sale.Resolver, coin string) (*invoice.Invoice, error)) func(*cobra.Command, []string) error {
	return s.saleOrders(func(call invocation, service *invoice.Service) (*invoice.Invoice, error) {
		id := call.args[0]
		inv, err := call.invoice(service, id)
		if err != nil {
			return nil, fmt.Errorf("%s sale: %w", call.Name(), err)
		}
		coin, err := chooseCoin(inv, *coin)
		if err != nil {
			return nil, err
		}
		inv, err = decide(call, call.core.SaleResolver(service), coin)
		switch {
		case errors.Is(err, invoice.ErrUnknownOrder):
			return nil, fmt.Errorf("%w. Look for the order at the exchange by the name that chequer sale list %s shows. If the exchange never had it: chequer sale retry %s --coin %s --absent. If it had: chequer sale settle %s --coin %s --sold AMOUNT --euro AMOUNT --fee AMOUNT",
				err, id, id, coin, id, coin)
		case errors.Is(err, invoice.ErrState):
			return nil, fmt.Errorf("%s sale: its state does not allow this now; chequer sale list %s shows it", call.Name(), id)
		case err != nil:
			return nil, fmt.Errorf("%s sale: %w", call.Name(), err)
		}
		return inv, nil
	})
}

// chooseCoin returns the coin of the sale that the operator decides about: the given coin, or the coin of the
// invoice's only sale if coin is "".
func chooseCoin(inv *invoice.Invoice, coin string) (string, error) {
	if coin != "" {
		return strings.ToUpper(coin), nil
	}
	switch len(inv.Sales) {
	case 0:
		return "", errors.New("this invoice has no sale")
	case 1:
		return inv.Sales[0].Coin, nil
	}
	var coins []string
	for _, s := range inv.Sales {
		coins = append(coins, s.Coin)
	}
	return "", fmt.Errorf("this invoice was paid in several coins: name one with --coin %s", strings.Join(coins, " or "))
}

func (s *shell) saleRetry() *cobra.Command {
	var coin string
	var absent, all bool
	retryOne := s.decideSale(&coin, func(call invocation, resolver sale.Resolver, coin string) (*invoice.Invoice, error) {
		return resolver.Retry(call.Context(), call.args[0], coin, absent)
	})
	c := &cobra.Command{
		Use:   "retry INVOICE | --all",
		Short: "Retry a sale that failed, was too small or is waiting",
		Long: `Lets the running server retry the rest of a sale. If the outcome of its last order is unknown, look for the order
at the exchange first. --absent states that the exchange never had it, so that it is sold again.
--all retries all failed sales, except those whose last order has an unknown outcome.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case all && (len(args) > 0 || absent || coin != ""), !all && len(args) == 0:
				return errors.New("give either an invoice or --all")
			case all:
				return s.withShop(s.retryAll)(c, args)
			}
			return retryOne(c, args)
		},
	}
	c.Flags().StringVar(&coin, "coin", "", "coin of the sale, if the invoice was paid in several coins")
	c.Flags().BoolVar(&absent, "absent", false, "you have checked that the exchange never had the last order")
	c.Flags().BoolVar(&all, "all", false, "all failed sales")
	return c
}

// maxRetried is the maximum number of invoices whose failed sales one command retries.
const maxRetried = 10_000

// retryAll retries all failed sales whose last order has a known outcome.
func (s *shell) retryAll(call invocation) error {
	service, err := call.invoices()
	if err != nil {
		return err
	}
	failed, err := call.core.Storage.InvoicesWithSales(call.Context(), call.shop.ID, invoice.SaleFailed, maxRetried)
	if err != nil {
		return err
	}
	retried, unknown, err := call.core.SaleResolver(service).RetryAll(call.Context(), failed)
	if err != nil {
		return err
	}
	rows := saleRows(retried, invoice.SaleWaiting) // a retried sale waits for the server
	if err := s.Print(call.Command, rows, func(w io.Writer) { writeSales(w, rows) }); err != nil || unknown == 0 {
		return err
	}
	return fmt.Errorf("%d sales not retried, because the outcome of their last order is unknown: chequer sale list --state failed", unknown)
}

func (s *shell) saleSettle() *cobra.Command {
	var coin, sold, euro, fee string
	c := &cobra.Command{
		Use:   "settle INVOICE",
		Short: "Close a sale by stating how much was sold; the default is nothing",
		Args:  console.Arguments,
		RunE: s.decideSale(&coin, func(call invocation, resolver sale.Resolver, coin string) (*invoice.Invoice, error) {
			var proceeds invoice.Proceeds
			for _, f := range []struct {
				name, text string
				currency   money.Currency
				target     *money.Amount
			}{{"sold", sold, invoice.SaleCoin(coin), &proceeds.Sold}, {"euro", euro, invoice.SaleEuro, &proceeds.Euro}, {"fee", fee, invoice.SaleEuro, &proceeds.Fee}} {
				var err error
				if *f.target, err = money.Parse(f.text, f.currency); err != nil {
					return nil, fmt.Errorf("--%s must be an amount in plain digits such as 0.00065, not %q", f.name, f.text)
				}
			}
			return resolver.Settle(call.Context(), call.args[0], coin, proceeds)
		}),
	}
	c.Flags().StringVar(&coin, "coin", "", "coin of the sale, if the invoice was paid in several coins")
	c.Flags().StringVar(&sold, "sold", "0", "amount of the coin that was sold")
	c.Flags().StringVar(&euro, "euro", "0", "proceeds in euro, before the fee")
	c.Flags().StringVar(&fee, "fee", "0", "the fee in euro")
	return c
}

// exchangeRow is an exchange account as it is printed. It never contains the secret.
type exchangeRow struct {
	ID        string   `json:"id"`
	Exchange  string   `json:"exchange"`
	Key       string   `json:"key"`
	On        bool     `json:"on"`
	Coins     []string `json:"coins"`
	Smallest  string   `json:"smallest_eur"`
	Slippage  string   `json:"slippage_percent"`
	CreatedAt string   `json:"created_at"`
}

func newExchangeRow(a merchant.ExchangeAccount) exchangeRow {
	return exchangeRow{
		ID: a.ID, Exchange: a.Exchange, Key: a.Key, On: a.Active, Coins: append([]string{}, a.Coins...), Smallest: a.Smallest,
		Slippage: sale.SlippageText(a.Slippage), CreatedAt: console.Stamp(a.CreatedAt),
	}
}

// writeExchange prints an exchange account.
func (s *shell) writeExchange(w io.Writer, r exchangeRow) {
	state := "off: chequer sale on"
	if r.On {
		state = "on"
	}
	console.WriteFields(w, [][2]string{
		{"exchange", r.Exchange}, {"key", r.Key}, {"selling", state}, {"coins", strings.Join(r.Coins, " ")}, {"smallest sale", console.Fiat(r.Smallest, "EUR")},
		{"slippage", "at most " + r.Slippage + " % below the invoice's rate"}, {"created", s.Time(r.CreatedAt)},
	})
}

// exchangeCommand returns a command that prints the exchange account that do returns.
func (s *shell) exchangeCommand(use, short string, do func(invocation, *sale.Accounts) (merchant.ExchangeAccount, error)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: console.Arguments,
		RunE: answer(s, func(call invocation) (exchangeRow, error) {
			account, err := do(call, call.core.Accounts(call.cfg))
			return newExchangeRow(account), exchangeError(err)
		}, s.writeExchange),
	}
}

// exchangeError replaces merchant.ErrNotFound by an error that names the command to use. It returns other errors
// unchanged.
func exchangeError(err error) error {
	if errors.Is(err, merchant.ErrNotFound) {
		return errors.New("there is no exchange account: chequer sale add")
	}
	return err
}

// saleTermFlags are the flags of the terms of sale. The term of a flag that is not given stays unchanged.
type saleTermFlags struct {
	coins              []string
	smallest, slippage string
}

func (f *saleTermFlags) add(c *cobra.Command) {
	c.Flags().StringSliceVar(&f.coins, "coins", nil, "coins to sell (default "+strings.Join(sale.DefaultCoins, ",")+"); EURC is never sold")
	c.Flags().StringVar(&f.smallest, "smallest", "", "smallest value of a sale, in euro (default "+sale.DefaultSmallest+")")
	c.Flags().StringVar(&f.slippage, "slippage", "", "largest percentage below the invoice's rate at which coins are sold (default "+sale.SlippageText(sale.DefaultSlippage)+")")
}

// apply sets the terms whose flags were given.
func (f *saleTermFlags) apply(call invocation, terms *sale.Settings) (err error) {
	call.applyFlags(map[string]func(){
		"coins": func() {
			terms.Coins = convertAll(f.coins, func(coin string) string { return strings.ToUpper(strings.TrimSpace(coin)) })
		},
		"smallest": func() { terms.Smallest = f.smallest },
		"slippage": func() { terms.Slippage, err = sale.ParseSlippage(f.slippage) },
	})
	return err
}

func (s *shell) saleAdd() *cobra.Command {
	var flags saleTermFlags
	var key string
	c := s.exchangeCommand("add EXCHANGE", "Use an account at kraken or bitstamp; its secret is read from standard input", func(call invocation, a *sale.Accounts) (created merchant.ExchangeAccount, err error) {
		if key == "" {
			return created, errors.New("--key is missing: the public part of the exchange's key")
		}
		terms := sale.Settings{Coins: sale.DefaultCoins, Smallest: sale.DefaultSmallest, Slippage: sale.DefaultSlippage}
		if err := flags.apply(call, &terms); err != nil {
			return created, err
		}
		secret, err := bufio.NewReader(io.LimitReader(call.InOrStdin(), 4<<10)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return created, fmt.Errorf("read the secret: %w", err)
		}
		if secret = strings.TrimSpace(secret); secret == "" {
			return created, errors.New("the secret is missing: give it on standard input, as in chequer sale add kraken --key ABC… < secret.txt")
		}
		created, err = a.Add(call.Context(), call.shop.ID, call.args[0], key, secret, terms)
		if errors.Is(err, merchant.ErrExists) {
			err = errors.New("there is an exchange account already: remove it first with chequer sale remove")
		}
		return created, err
	})
	c.Long = `Uses your own account at an exchange. The key must be allowed to read balances and orders and to trade, and
must not be allowed to withdraw: the exchange is asked, and a key that can withdraw is refused. The secret is read from
standard input, stored encrypted, and never shown again. Nothing is sold before chequer sale on.`
	c.Example = "  chequer sale add kraken --key ABC… < secret.txt"
	flags.add(c)
	c.Flags().StringVar(&key, "key", "", "public part of the exchange's key")
	return c
}

func (s *shell) saleSet() *cobra.Command {
	var flags saleTermFlags
	c := s.exchangeCommand("set", "Change the terms of sale of new invoices", func(call invocation, a *sale.Accounts) (merchant.ExchangeAccount, error) {
		if err := flags.apply(call, &sale.Settings{}); err != nil {
			return merchant.ExchangeAccount{}, err
		}
		return a.Change(call.Context(), call.shop.ID, func(terms *sale.Settings) { _ = flags.apply(call, terms) }) // the flags have been checked above
	})
	flags.add(c)
	return c
}

func (s *shell) saleRemove() *cobra.Command {
	return &cobra.Command{
		Use:   "remove",
		Short: "Remove the exchange account; waiting sales wait for the next account",
		Args:  console.Arguments,
		RunE: s.withShop(func(call invocation) error {
			account, err := call.core.Accounts(call.cfg).Remove(call.Context(), call.shop.ID)
			if errors.Is(err, merchant.ErrBusy) {
				return fmt.Errorf("the exchange account is not removed: %w; chequer sale list shows the sales", err)
			}
			if err != nil {
				return exchangeError(err)
			}
			return s.Print(call.Command, map[string]string{"removed": account.ID}, func(w io.Writer) { fmt.Fprintln(w, "removed", account.Exchange) })
		}),
	}
}
