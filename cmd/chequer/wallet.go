package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"chequer/internal/app"
	"chequer/internal/keys"
	"chequer/internal/merchant"
)

// previewed is how many addresses are shown to compare with the wallet.
const previewed = 5

// wallet is the group of commands about public keys that money goes to.
func (s *shell) wallet() *cobra.Command {
	c := &cobra.Command{Use: "wallet", Short: "Say where the money goes: extended public keys"}
	c.AddCommand(s.walletAdd(), s.walletList())
	return c
}

// walletRow is a wallet as it is shown.
type walletRow struct {
	Asset     string   `json:"asset"`
	Mode      string   `json:"mode"`
	Script    string   `json:"script"`
	Key       string   `json:"key"`
	Addresses []string `json:"addresses"`
	CreatedAt string   `json:"created_at,omitempty"`
}

func (s *shell) walletAdd() *cobra.Command {
	var script string
	c := &cobra.Command{
		Use:   "add ASSET KEY",
		Short: "Use an extended public key for BTC, LTC, or ETH with every EVM network and token",
		Long:  "Uses an extended public key (xpub, ypub, zpub, Ltub, Mtub) for BTC, LTC, or ETH, which stands for\nevery EVM network and token. Prints the first addresses: compare them with your wallet's.\nInvoices made before keep their addresses.",
		Args:  cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			key, err := keys.Parse(args[1], keys.Kind(strings.ToUpper(args[0])), keys.Main, keys.Script(script))
			if err != nil {
				return fmt.Errorf("wallet add: %w", err)
			}
			row, err := newWalletRow(key, merchant.Live)
			if err != nil {
				return err
			}
			cfg, core, err := s.core(c)
			if err != nil {
				return err
			}
			defer core.Close()
			shop, err := core.Shop(c.Context(), cfg, app.Options{})
			if err != nil {
				return err
			}
			err = core.AddWallet(c.Context(), shop.ID, key)
			if errors.Is(err, merchant.ErrExists) {
				return fmt.Errorf("wallet add: this key is the %s wallet already", row.Asset)
			}
			if err != nil {
				return fmt.Errorf("wallet add: %w", err)
			}
			return s.print(c, row, func(w io.Writer) {
				fmt.Fprintf(w, "%s wallet added. Compare its first addresses with your wallet's:\n", row.Asset)
				for i, a := range row.Addresses {
					fmt.Fprintf(w, "  %d  %s\n", i, a)
				}
			})
		},
	}
	c.Flags().StringVar(&script, "script", "", "address type of a plain xpub: p2pkh, p2sh-p2wpkh, p2wpkh or p2tr")
	return c
}

func (s *shell) walletList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the wallets in force with their first addresses",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, core, err := s.core(c)
			if err != nil {
				return err
			}
			defer core.Close()
			shop, err := core.Shop(c.Context(), cfg, app.Options{})
			if err != nil {
				return err
			}
			rows := []walletRow{}
			for _, mode := range []merchant.Mode{merchant.Live, merchant.Test} {
				list, err := core.Storage.Wallets(c.Context(), shop.ID, mode)
				if err != nil {
					return err
				}
				for _, wallet := range list {
					key, err := keys.Load(wallet.Key)
					if err != nil {
						return fmt.Errorf("wallet %s: %w", wallet.ID, err)
					}
					row, err := newWalletRow(key, mode)
					if err != nil {
						return err
					}
					row.CreatedAt = stamp(wallet.CreatedAt)
					rows = append(rows, row)
				}
			}
			return s.print(c, rows, func(w io.Writer) {
				t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
				fmt.Fprintln(t, "ASSET\tMODE\tSCRIPT\tFIRST ADDRESS\tADDED")
				for _, r := range rows {
					fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", r.Asset, r.Mode, r.Script, r.Addresses[0], r.CreatedAt)
				}
				t.Flush()
			})
		},
	}
}

// newWalletRow shows a key with its first addresses.
func newWalletRow(key keys.Key, mode merchant.Mode) (walletRow, error) {
	row := walletRow{Asset: string(key.Kind()), Mode: string(mode), Script: string(key.Script()), Key: key.String()}
	for i := range uint32(previewed) {
		address, _, err := key.Address(i)
		if err != nil {
			return walletRow{}, err
		}
		row.Addresses = append(row.Addresses, address)
	}
	return row, nil
}
