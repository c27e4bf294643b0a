package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"chequer/internal/console"
	"chequer/internal/merchant"
	"chequer/internal/sale"
)

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
standard input, kept sealed, and never shown again. Nothing is sold before chequer sale on.`
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
