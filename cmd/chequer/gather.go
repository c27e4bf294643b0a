package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"chequer/internal/chain"
	"chequer/internal/sweep"
)

func (s *shell) walletGather() *cobra.Command {
	var network string
	var asCSV bool
	c := &cobra.Command{
		Use:   "gather --network NETWORK",
		Short: "List the holdings of the addresses of the ETH wallets, including former wallets",
		Long: `Lists the addresses of invoices that hold tokens or the network's own coin, with their derivation paths in
the wallet that holds the seed. Nothing is moved: the server cannot spend.
Moving the coins, or sending an address the fee for it, does not affect a paid invoice.`,
		Example: "  chequer wallet gather --network base --csv",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, core, shop, err := s.shop(c)
			if err != nil {
				return err
			}
			defer core.Close()
			holdings, err := sweep.Holdings(c.Context(), core.Storage, cfg, shop.ID, chain.ID(network), core.Now)
			if err != nil {
				return fmt.Errorf("wallet gather: %w", err)
			}
			if asCSV {
				return writeCSV(c.OutOrStdout(), holdings)
			}
			return s.print(c, holdings, func(w io.Writer) { writeTable(w, holdings) })
		},
	}
	c.Flags().StringVar(&network, "network", "", "ethereum, base or another watched network")
	c.Flags().BoolVar(&asCSV, "csv", false, "print CSV")
	if err := c.MarkFlagRequired("network"); err != nil {
		panic(err)
	}
	return c
}

func fields(h sweep.Holding) []string {
	return []string{strconv.FormatUint(uint64(h.Index), 10), h.Path, h.Address, h.Asset, h.Contract, h.Amount, h.Wallet}
}

func writeCSV(w io.Writer, holdings []sweep.Holding) error {
	rows := [][]string{{"index", "path", "address", "asset", "contract", "amount", "wallet"}}
	for _, h := range holdings {
		rows = append(rows, fields(h))
	}
	return csv.NewWriter(w).WriteAll(rows)
}

func writeTable(w io.Writer, holdings []sweep.Holding) {
	if len(holdings) == 0 {
		fmt.Fprintln(w, "The addresses hold nothing.")
		return
	}
	table(w, "INDEX\tPATH\tADDRESS\tASSET\tAMOUNT\tWALLET", holdings, func(h sweep.Holding) []any {
		return []any{h.Index, h.Path, h.Address, h.Asset, h.Amount, h.Wallet}
	})
}
