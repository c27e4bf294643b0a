package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/sale"
)

// convert returns the group of commands about selling received coins for euro.
func (s *shell) convert() *cobra.Command {
	c := group("convert", "Sell received coins for euro on your own exchange account, and show the sales")
	c.AddCommand(s.convertAdd(), s.convertShow(), s.convertSet(),
		s.convertSwitch("on", "Sell the coins of new invoices, and continue waiting sales", true),
		s.convertSwitch("off", "Stop selling; waiting sales keep waiting", false),
		s.convertRemove(), s.convertList(), s.convertRetry(), s.convertSettle())
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
		Slippage: sale.SlippageText(a.Slippage), CreatedAt: stamp(a.CreatedAt),
	}
}

// printExchange prints an exchange account.
func (s *shell) printExchange(c *cobra.Command, a merchant.ExchangeAccount) error {
	r := newExchangeRow(a)
	return s.print(c, r, func(w io.Writer) {
		state := "off: chequer convert on"
		if r.On {
			state = "on"
		}
		lines := [][2]string{
			{"exchange", r.Exchange}, {"key", r.Key}, {"selling", state}, {"coins", strings.Join(r.Coins, " ")}, {"smallest sale", r.Smallest + " EUR"},
			{"slippage", "at most " + r.Slippage + " % below the invoice's rate"}, {"since", s.when(r.CreatedAt)},
		}
		table(w, "", lines, func(line [2]string) []any { return []any{line[0], line[1]} })
	})
}

// settingFlags are the flags of the terms of sale. The term of a flag that is not given stays unchanged.
type settingFlags struct {
	coins              []string
	smallest, slippage string
}

func (f *settingFlags) add(c *cobra.Command) {
	c.Flags().StringSliceVar(&f.coins, "coins", nil, "coins to sell (default "+strings.Join(sale.DefaultCoins, ",")+"); EURC is never sold")
	c.Flags().StringVar(&f.smallest, "smallest", "", "smallest value of a sale, in euro (default "+sale.DefaultSmallest+")")
	c.Flags().StringVar(&f.slippage, "slippage", "", "largest percentage below the invoice's rate at which coins are sold (default "+sale.SlippageText(sale.DefaultSlippage)+")")
}

// apply changes settings to the values of the flags that were given.
func (f *settingFlags) apply(c *cobra.Command, set *sale.Settings) error {
	if c.Flags().Changed("coins") {
		set.Coins = nil
		for _, coin := range f.coins {
			set.Coins = append(set.Coins, strings.ToUpper(strings.TrimSpace(coin)))
		}
	}
	if c.Flags().Changed("smallest") {
		set.Smallest = f.smallest
	}
	if c.Flags().Changed("slippage") {
		var err error
		if set.Slippage, err = sale.ParseSlippage(f.slippage); err != nil {
			return err
		}
	}
	return nil
}

func (s *shell) convertAdd() *cobra.Command {
	var flags settingFlags
	var key string
	c := &cobra.Command{
		Use:   "add EXCHANGE",
		Short: "Use an account at kraken or bitstamp; its secret is read from standard input",
		Long: `Uses your own account at an exchange. The key must be allowed to read balances and orders and to trade, and
must not be allowed to withdraw: the exchange is asked, and a key that can withdraw is refused. The secret is read from
standard input, kept sealed, and never shown again. Nothing is sold before chequer convert on.`,
		Example: "  chequer convert add kraken --key ABC… < secret.txt",
		Args:    arguments,
		RunE: func(c *cobra.Command, args []string) error {
			if key == "" {
				return errors.New("--key is missing: the public part of the exchange's key")
			}
			set := sale.Settings{Coins: sale.DefaultCoins, Smallest: sale.DefaultSmallest, Slippage: sale.DefaultSlippage}
			if err := flags.apply(c, &set); err != nil {
				return err
			}
			secret, err := bufio.NewReader(io.LimitReader(c.InOrStdin(), 4<<10)).ReadString('\n')
			if err != nil && !errors.Is(err, io.EOF) {
				return fmt.Errorf("read the secret: %w", err)
			}
			if secret = strings.TrimSpace(secret); secret == "" {
				return errors.New("the secret is missing: give it on standard input, as in chequer convert add kraken --key ABC… < secret.txt")
			}
			return s.withAccounts(c, func(a *sale.Accounts, shop merchant.Merchant) error {
				made, err := a.Add(c.Context(), shop.ID, args[0], key, secret, set)
				if errors.Is(err, merchant.ErrExists) {
					return errors.New("there is an exchange account already: remove it first with chequer convert remove")
				}
				if err != nil {
					return err
				}
				return s.printExchange(c, made)
			})
		},
	}
	flags.add(c)
	c.Flags().StringVar(&key, "key", "", "public part of the exchange's key")
	return c
}

// withAccounts opens the storage and calls do with the service of exchange accounts.
func (s *shell) withAccounts(c *cobra.Command, do func(*sale.Accounts, merchant.Merchant) error) error {
	cfg, core, shop, err := s.shop(c)
	if err != nil {
		return err
	}
	defer core.Close()
	err = do(core.Accounts(cfg), shop)
	if errors.Is(err, merchant.ErrNotFound) {
		return errors.New("there is no exchange account: chequer convert add")
	}
	return err
}

func (s *shell) convertShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show",
		Short: "Show the exchange account and what is sold there",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return s.withAccounts(c, func(a *sale.Accounts, shop merchant.Merchant) error {
				account, err := a.Account(c.Context(), shop.ID)
				if err != nil {
					return err
				}
				return s.printExchange(c, account)
			})
		},
	}
}

func (s *shell) convertSet() *cobra.Command {
	var flags settingFlags
	c := &cobra.Command{
		Use:   "set",
		Short: "Change the terms of sale of new invoices",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := flags.apply(c, &sale.Settings{}); err != nil {
				return err
			}
			return s.withAccounts(c, func(a *sale.Accounts, shop merchant.Merchant) error {
				account, err := a.Change(c.Context(), shop.ID, func(set *sale.Settings) { _ = flags.apply(c, set) }) // the flags have been checked above
				if err != nil {
					return err
				}
				return s.printExchange(c, account)
			})
		},
	}
	flags.add(c)
	return c
}

func (s *shell) convertSwitch(use, short string, on bool) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return s.withAccounts(c, func(a *sale.Accounts, shop merchant.Merchant) error {
				account, err := a.Switch(c.Context(), shop.ID, on)
				if err != nil {
					return err
				}
				return s.printExchange(c, account)
			})
		},
	}
}

func (s *shell) convertRemove() *cobra.Command {
	return &cobra.Command{
		Use:   "remove",
		Short: "Remove the exchange account; waiting sales wait for the next account",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return s.withAccounts(c, func(a *sale.Accounts, shop merchant.Merchant) error {
				account, err := a.Remove(c.Context(), shop.ID)
				if errors.Is(err, merchant.ErrBusy) {
					return fmt.Errorf("the exchange account is not removed: %w; chequer convert list shows the sales", err)
				}
				if err != nil {
					return err
				}
				return s.print(c, map[string]string{"removed": account.ID}, func(w io.Writer) { fmt.Fprintln(w, "removed", account.Exchange) })
			})
		},
	}
}

// saleRow is a conversion as it is printed.
type saleRow struct {
	InvoiceID string      `json:"foreign_id"`
	OrderID   string      `json:"order_id"`
	Status    string      `json:"status"`
	Coin      string      `json:"crypto_currency"`
	State     string      `json:"state"`
	Reason    string      `json:"reason"`
	Amount    string      `json:"amount"`
	Sold      string      `json:"sold_amount"`
	Rate      string      `json:"rate_eur"`
	Lowest    string      `json:"lowest_price"`
	Average   string      `json:"average_price"`
	Euro      string      `json:"euro_amount"`
	Fee       string      `json:"fee_amount"`
	Orders    []orderLine `json:"orders"`
	CreatedAt string      `json:"created_at"`
	NextAt    string      `json:"next_at"`
}

// orderLine is an order of a conversion as it is printed.
type orderLine struct {
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

// saleRows returns the conversions of invoices in a state, or all if the state is "".
func saleRows(invoices []sale.Listed, state invoice.SaleState) []saleRow {
	rows := []saleRow{}
	for _, inv := range invoices {
		for i := range inv.Sales {
			c := &inv.Sales[i]
			if state != "" && c.State != state {
				continue
			}
			sold := c.Sold()
			r := saleRow{
				InvoiceID: inv.ID, OrderID: inv.OrderID, Status: string(inv.Status), Coin: c.Coin, State: string(c.State), Reason: string(c.Reason),
				Amount: c.Amount.String(), Sold: sold.Sold.String(), Rate: c.Rate.Price(), Lowest: c.Lowest.String(), Average: c.Average(),
				Euro: sold.Euro.String(), Fee: sold.Fee.String(), Orders: []orderLine{}, CreatedAt: stamp(c.CreatedAt),
			}
			if !c.NextAt.IsZero() {
				r.NextAt = stamp(c.NextAt)
			}
			for _, o := range c.Orders {
				r.Orders = append(r.Orders, orderLine{
					ID: o.ID, Exchange: o.Exchange, Ref: o.Ref, State: string(o.State), Amount: o.Amount.String(), Limit: o.Limit.String(),
					Sold: o.Sold.String(), Fault: o.Fault, SentAt: stamp(o.SentAt),
				})
			}
			rows = append(rows, r)
		}
	}
	return rows
}

func (s *shell) convertList() *cobra.Command {
	var state string
	var limit int
	c := &cobra.Command{
		Use:   "list [INVOICE]",
		Short: "List sales, newest first, or the sales of one invoice with their orders",
		Args:  arguments,
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkState(state); err != nil {
				return err
			}
			core, service, shop, err := s.invoices(c)
			if err != nil {
				return err
			}
			defer core.Close()
			if len(args) == 1 {
				inv, err := service.Invoice(c.Context(), args[0])
				if err != nil {
					return fmt.Errorf("list conversions: %w", err)
				}
				return s.printSales(c, saleRows([]sale.Listed{sale.NewListed(inv)}, ""), true)
			}
			all, err := core.Storage.Converted(c.Context(), shop.ID, invoice.SaleState(state), max(limit, 0))
			if err != nil {
				return err
			}
			return s.printSales(c, saleRows(all, invoice.SaleState(state)), false)
		},
	}
	c.Flags().StringVar(&state, "state", "", "only sales in this state: waiting, sending, filled, failed, settled or skipped")
	c.Flags().IntVar(&limit, "limit", 50, "maximum number of invoices")
	return c
}

// checkState returns an error for an unknown state of a conversion.
func checkState(state string) error {
	if state == "" {
		return nil
	}
	var names []string
	for _, known := range invoice.SaleStates {
		if string(known) == state {
			return nil
		}
		names = append(names, string(known))
	}
	return fmt.Errorf("there is no state %q; there are %s", state, strings.Join(names, ", "))
}

// printSales prints conversions, and their orders if orders is true.
func (s *shell) printSales(c *cobra.Command, rows []saleRow, orders bool) error {
	return s.print(c, rows, func(w io.Writer) {
		table(w, "INVOICE\tORDER\tSTATUS\tSELL\tSOLD\tPRICE\tEUR\tFEE\tSTATE", rows, func(r saleRow) []any {
			return []any{
				r.InvoiceID, r.OrderID, r.Status, r.Amount + " " + r.Coin, r.Sold, r.Average, r.Euro, r.Fee, strings.TrimSpace(r.State + " " + r.Reason),
			}
		})
		for _, r := range rows {
			if !orders || len(r.Orders) == 0 {
				continue
			}
			fmt.Fprintln(w)
			table(w, "ORDER OF "+r.Coin+"\tEXCHANGE\tEXCHANGE ORDER\tSENT\tAMOUNT\tAT LEAST\tSOLD\tSTATE\tNOTE", r.Orders, func(o orderLine) []any {
				return []any{o.ID, o.Exchange, o.Ref, s.when(o.SentAt), o.Amount, o.Limit, o.Sold, o.State, o.Fault}
			})
		}
	})
}

// coinOf returns the coin of the conversion that a command changes: the given coin, or the only coin of
// the invoice.
func coinOf(inv *invoice.Invoice, coin string) (string, error) {
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
	for _, c := range inv.Sales {
		coins = append(coins, c.Coin)
	}
	return "", fmt.Errorf("this invoice was paid in several coins: name one with --coin %s", strings.Join(coins, " or "))
}

// decideSale carries out the operator's decision about a conversion and prints it.
func (s *shell) decideSale(c *cobra.Command, id, coin string, decide func(sale.Resolver, context.Context, string) (*invoice.Invoice, error)) error {
	core, service, _, err := s.invoices(c)
	if err != nil {
		return err
	}
	defer core.Close()
	inv, err := service.Invoice(c.Context(), id)
	if err != nil {
		return fmt.Errorf("%s conversion: %w", c.Name(), err)
	}
	if coin, err = coinOf(inv, coin); err != nil {
		return err
	}
	inv, err = decide(core.Desk(service), c.Context(), coin)
	switch {
	case errors.Is(err, invoice.ErrUnknownOrder):
		return fmt.Errorf("%w. Look for the order at the exchange by the name that chequer convert list %s shows. If the exchange never had it: chequer convert retry %s --coin %s --absent. If it had: chequer convert settle %s --coin %s --sold AMOUNT --euro AMOUNT --fee AMOUNT",
			err, id, id, coin, id, coin)
	case errors.Is(err, invoice.ErrState):
		return fmt.Errorf("%s conversion: its state does not allow this now; chequer convert list %s shows it", c.Name(), id)
	case err != nil:
		return fmt.Errorf("%s conversion: %w", c.Name(), err)
	}
	return s.printSales(c, saleRows([]sale.Listed{sale.NewListed(inv)}, ""), true)
}

func (s *shell) convertRetry() *cobra.Command {
	var coin string
	var absent, all bool
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
				return errors.New("want an invoice, or --all alone")
			case all:
				return s.retryAll(c)
			}
			return s.decideSale(c, args[0], coin, func(d sale.Resolver, ctx context.Context, coin string) (*invoice.Invoice, error) {
				return d.Retry(ctx, args[0], coin, absent)
			})
		},
	}
	c.Flags().StringVar(&coin, "coin", "", "coin of the sale, if the invoice was paid in several coins")
	c.Flags().BoolVar(&absent, "absent", false, "you have checked that the exchange never had the last order")
	c.Flags().BoolVar(&all, "all", false, "all failed sales")
	return c
}

// retryAll retries all failed sales whose last order has a known outcome.
func (s *shell) retryAll(c *cobra.Command) error {
	core, service, shop, err := s.invoices(c)
	if err != nil {
		return err
	}
	defer core.Close()
	failed, err := core.Storage.Converted(c.Context(), shop.ID, invoice.SaleFailed, 10_000)
	if err != nil {
		return err
	}
	var retried []sale.Listed
	unknown := 0
	for _, inv := range failed {
		for _, conversion := range inv.Sales {
			if conversion.State != invoice.SaleFailed {
				continue
			}
			changed, err := core.Desk(service).Retry(c.Context(), inv.ID, conversion.Coin, false)
			switch {
			case errors.Is(err, invoice.ErrUnknownOrder):
				unknown++
			case err != nil:
				return fmt.Errorf("retry conversion of invoice %s: %w", inv.ID, err)
			default:
				retried = append(retried, sale.NewListed(changed))
			}
		}
	}
	if err := s.printSales(c, saleRows(retried, invoice.SaleWaiting), false); err != nil || unknown == 0 {
		return err
	}
	return fmt.Errorf("%d sales not retried, because the outcome of their last order is unknown: chequer convert list --state failed", unknown)
}

func (s *shell) convertSettle() *cobra.Command {
	var coin, sold, euro, fee string
	c := &cobra.Command{
		Use:   "settle INVOICE",
		Short: "Close a sale by stating how much was sold; the default is nothing",
		Args:  arguments,
		RunE: func(c *cobra.Command, args []string) error {
			return s.decideSale(c, args[0], coin, func(d sale.Resolver, ctx context.Context, coin string) (*invoice.Invoice, error) {
				var sale invoice.Proceeds
				for _, f := range []struct {
					name, text string
					currency   money.Currency
					into       *money.Amount
				}{{"sold", sold, invoice.SaleCoin(coin), &sale.Sold}, {"euro", euro, invoice.SaleEuro, &sale.Euro}, {"fee", fee, invoice.SaleEuro, &sale.Fee}} {
					var err error
					if *f.into, err = money.Parse(f.text, f.currency); err != nil {
						return nil, fmt.Errorf("--%s must be an amount in plain digits such as 0.00065, not %q", f.name, f.text)
					}
				}
				return d.Settle(ctx, args[0], coin, sale)
			})
		},
	}
	c.Flags().StringVar(&coin, "coin", "", "coin of the sale, if the invoice was paid in several coins")
	c.Flags().StringVar(&sold, "sold", "0", "amount of the coin that was sold")
	c.Flags().StringVar(&euro, "euro", "0", "proceeds in euro, before the fee")
	c.Flags().StringVar(&fee, "fee", "0", "the fee in euro")
	return c
}
