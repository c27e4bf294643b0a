package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"chequer/internal/chain"
	"chequer/internal/chain/lightning"
	"chequer/internal/console"
	"chequer/internal/merchant"
	"chequer/internal/networks"
)

// lightning returns the group of commands about connections to Lightning wallets and nodes.
func (s *shell) lightning() *cobra.Command {
	return console.Group("lightning", "Connect a Lightning wallet or node, which makes payment requests", s.lightningAdd(), s.lightningList(), s.lightningTest(), s.lightningRemove())
}

// connectionRow is a connection as it is printed. It never contains the secret.
type connectionRow struct {
	ID        string        `json:"id"`
	Mode      merchant.Mode `json:"mode"`
	Provider  string        `json:"provider"`
	CreatedAt string        `json:"created_at"`
	// ArchivedAt is when the connection was replaced or removed.
	ArchivedAt string `json:"archived_at,omitempty"`
	// Warning is set in the output of lightning add.
	Warning string `json:"warning,omitempty"`
	// Methods are the payment methods of the connection; set only in the output of lightning add.
	Methods *networks.Methods `json:"payment_methods,omitempty"`
}

func newConnectionRow(w merchant.Wallet) connectionRow {
	return connectionRow{ID: w.ID, Mode: w.Mode, Provider: w.Key, CreatedAt: console.Stamp(w.CreatedAt), ArchivedAt: console.Stamp(w.ArchivedAt)}
}

func (s *shell) lightningAdd() *cobra.Command {
	var allowSpending, replace bool
	c := &cobra.Command{
		Use:   "add",
		Short: "Connect a Lightning wallet or node; the connection is read from standard input or asked for",
		Long: `Connects a Lightning wallet or node, which makes the payment requests of new live invoices. The connection
is a line that the wallet or node shows, one of:

  a Lightning address             user@domain
  Nostr Wallet Connect            nostr+walletconnect://…
  lnd                             lndconnect://…, or type=lnd-rest;server=URL;macaroon=HEX;certthumbprint=HEX
  phoenixd                        type=phoenixd;server=URL;password=…

It is asked for at a terminal without showing it, and otherwise read from standard input. It is stored encrypted and never
shown again. Before it is stored, the wallet or node must make and find a payment request of the least amount.

A connection that may spend from your wallet is refused. With --allow-spending, one of Nostr Wallet Connect is accepted,
and the server warns at every start.`,
		Example: "  chequer lightning add\n  chequer lightning add --replace < connection.txt",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 { // the error must not repeat them
				return errors.New("do not pass the connection as an argument, because other users of this computer can see arguments: enter it when asked, or use standard input")
			}
			return nil
		},
		RunE: s.withShop(func(call invocation) error { return s.addConnection(call, allowSpending, replace) }),
	}
	c.Flags().BoolVar(&allowSpending, "allow-spending", false, "accept a connection of Nostr Wallet Connect that may spend from your wallet")
	c.Flags().BoolVar(&replace, "replace", false, "replace the active connection")
	return c
}

// addConnection reads a connection and makes it the shop's live connection.
func (s *shell) addConnection(call invocation, allowSpending, replace bool) error {
	if err := call.checkNotDemo(); err != nil {
		return fmt.Errorf("lightning add: %w", err)
	}
	methods, err := networks.MethodsOf(call.cfg, chain.CodeLightning)
	if err != nil {
		return fmt.Errorf("lightning add: %w", err)
	}
	active, err := activeConnection(call)
	switch {
	case errors.Is(err, errNoConnection):
	case err != nil:
		return err
	case !replace:
		return fmt.Errorf("lightning add: there is a connection already, %s; nothing was changed. Add --replace to replace it", active.Key)
	}
	text, err := readConnection(call)
	if err != nil {
		return fmt.Errorf("lightning add: %w", err)
	}
	change, err := call.core.Wallets.AddConnection(call.Context(), call.shop.ID, merchant.ConnectionAddition{Text: text, AllowSpending: allowSpending, Replaces: active.ID})
	if err != nil {
		return connectionError(err)
	}
	row := newConnectionRow(change.Wallet)
	row.Methods = &methods
	if change.Spending != "" {
		row.Warning = lightning.Access{Spending: change.Spending}.Describe()
	}
	newLogger(call.cfg).Info("connection changed", "change", change.Change, "merchant", call.shop.ID, "wallet", row.ID, "former", change.Former.ID)
	return s.Print(call.Command, row, func(w io.Writer) {
		fmt.Fprintf(w, "%s is connected: it makes and finds payment requests\n", row.Provider)
		if row.Warning != "" {
			fmt.Fprintln(w, "Warning:", row.Warning)
		}
		printMethods(w, methods)
	})
}

// connectionError adds the flag or the command that helps to an error about a connection.
func connectionError(err error) error {
	if _, maySpend := errors.AsType[*merchant.SpendingError](err); maySpend {
		return fmt.Errorf("lightning add: %w, or add --allow-spending; nothing was changed", err)
	}
	if errors.Is(err, merchant.ErrExists) {
		return errors.New("lightning add: this is the connection already; nothing was changed")
	}
	return fmt.Errorf("lightning add: %w; nothing was changed", err)
}

// readConnection asks for a connection at a terminal, or reads it from standard input.
func readConnection(call invocation) (string, error) {
	text, err := readSecret(call.Command, "Connection", lightning.MaxConnection+1)
	if err != nil {
		return "", fmt.Errorf("read the connection: %w", err)
	}
	if text == "" {
		return "", errors.New("the connection is missing: enter it when asked, or give it on standard input, as in chequer lightning add < connection.txt")
	}
	return text, nil
}

// readSecret asks for a secret at a terminal without showing it, or reads at most limit bytes of standard input. White space
// around the secret is removed.
func readSecret(c *cobra.Command, name string, limit int64) (string, error) {
	text, err := console.ReadSecret(c.Context(), name+" (it is not shown): ")
	if errors.Is(err, console.ErrNoTerminal) {
		var read []byte
		read, err = io.ReadAll(io.LimitReader(c.InOrStdin(), limit))
		text = string(read)
	}
	return strings.TrimSpace(text), err
}

// errNoConnection means that the shop has no active live connection.
var errNoConnection = errors.New("there is no live connection: chequer lightning add")

// activeConnection returns the shop's active live connection, or an errNoConnection that names the connection of test invoices.
func activeConnection(call invocation) (merchant.Wallet, error) {
	for _, mode := range []merchant.Mode{merchant.Live, merchant.Test} {
		all, err := call.core.Storage.Wallets(call.Context(), call.shop.ID, mode)
		if err != nil {
			return merchant.Wallet{}, err
		}
		i := slices.IndexFunc(all, merchant.Wallet.IsConnection)
		switch {
		case i < 0:
		case mode == merchant.Live:
			return all[i], nil
		default:
			return merchant.Wallet{}, fmt.Errorf("%w. The connection of test invoices, %s, is a part of this program: it needs no test and cannot be removed", errNoConnection, all[i].Key)
		}
	}
	return merchant.Wallet{}, errNoConnection
}

func (s *shell) lightningList() *cobra.Command {
	return list(s, "list", "List the connections, including former ones", func(call invocation) ([]connectionRow, error) {
		rows := []connectionRow{}
		for _, mode := range []merchant.Mode{merchant.Live, merchant.Test} {
			wallets, err := call.core.Storage.AllWallets(call.Context(), call.shop.ID, mode)
			if err != nil {
				return nil, err
			}
			for _, w := range wallets {
				if w.IsConnection() {
					rows = append(rows, newConnectionRow(w))
				}
			}
		}
		return rows, nil
	}, "PROVIDER\tMODE\tCREATED\tENDED\tWALLET", func(r connectionRow) []any {
		return []any{console.Printable(r.Provider), r.Mode, s.Time(r.CreatedAt), cmp.Or(s.Time(r.ArchivedAt), "active"), r.ID}
	})
}

// connectionTest is the result of a test of a connection.
type connectionTest struct {
	ID       string `json:"id"`
	Provider string `json:"provider"`
	Says     string `json:"says"`
	// Spending is the permission by which the connection may spend; "" if it may only receive.
	Spending string `json:"spending"`
}

func (s *shell) lightningTest() *cobra.Command {
	return &cobra.Command{
		Use:   "test",
		Short: "Let the wallet or node of live invoices make and find a payment request of the least amount",
		Args:  console.Arguments,
		RunE: answer(s, func(call invocation) (connectionTest, error) {
			w, err := activeConnection(call)
			if err != nil {
				return connectionTest{}, err
			}
			access, err := networks.ExamineWallet(call.Context(), call.cfg, w, call.core.Now, newLogger(call.cfg))
			if err != nil {
				return connectionTest{}, fmt.Errorf("lightning (%s): %w", w.Key, err)
			}
			return connectionTest{ID: w.ID, Provider: w.Key, Says: access.Describe(), Spending: access.Spending}, nil
		}, func(w io.Writer, t connectionTest) { fmt.Fprintf(w, "lightning (%s): %s\n", t.Provider, t.Says) }),
	}
}

func (s *shell) lightningRemove() *cobra.Command {
	return &cobra.Command{
		Use:   "remove",
		Short: "Remove the connection: new live invoices do not offer Lightning",
		Args:  console.Arguments,
		RunE: answer(s, func(call invocation) (map[string]string, error) {
			active, err := activeConnection(call)
			if err != nil {
				return nil, err
			}
			change, err := call.core.Wallets.Remove(call.Context(), call.shop.ID, chain.CodeLightning, active.ID)
			if errors.Is(err, merchant.ErrNotFound) {
				err = errNoConnection // it was removed meanwhile
			}
			if err != nil {
				return nil, err
			}
			newLogger(call.cfg).Warn("connection removed", "merchant", call.shop.ID, "wallet", change.Wallet.ID)
			return map[string]string{"removed": change.Wallet.Key}, nil
		}, func(w io.Writer, result map[string]string) {
			fmt.Fprintf(w, "removed %s; its payment requests are looked up until they end\n", result["removed"])
		}),
	}
}
