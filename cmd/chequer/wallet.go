package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"chequer/internal/chain"
	"chequer/internal/config"
	"chequer/internal/console"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/networks"
	"chequer/internal/sweep"
	"chequer/internal/sweep/offline"
	"chequer/internal/sweep/sign"
)

// shownAddresses is the number of addresses that are printed to compare with the wallet.
const shownAddresses = 5

// changeWarning is printed for a key of change addresses, which most wallets do not show.
const changeWarning = "These are the addresses that a wallet keeps for its change (…/1/*), not those it receives at (…/0/*). Unless your wallet shows them as its own, add …/0/* instead."

// wallet returns the group of commands about public keys to which payments go.
func (s *shell) wallet() *cobra.Command {
	return console.Group("wallet", "Set the public keys to which payments go", s.walletAdd(), s.walletList(), s.walletRemove(), s.walletSweep())
}

// walletRow is a wallet as it is printed.
type walletRow struct {
	ID        string   `json:"id,omitempty"`
	Asset     string   `json:"asset"`
	Mode      string   `json:"mode"`
	Script    string   `json:"script"`
	Key       string   `json:"key"`
	Addresses []string `json:"addresses"`
	Warning   string   `json:"warning,omitempty"`
	CreatedAt string   `json:"created_at,omitempty"`
	// Methods are the payment methods of the wallet; set only in the output of wallet add.
	Methods *networks.Methods `json:"payment_methods,omitempty"`
	// ArchivedAt is when the wallet was replaced or removed.
	ArchivedAt string `json:"archived_at,omitempty"`
}

func (s *shell) walletList() *cobra.Command {
	return list(s, "list", "List the wallets, including former wallets, with their first addresses", func(call invocation) ([]walletRow, error) {
		rows := []walletRow{}
		for _, mode := range []merchant.Mode{merchant.Live, merchant.Test} {
			wallets, err := call.core.Storage.AllWallets(call.Context(), call.shop.ID, mode)
			if err != nil {
				return nil, err
			}
			for _, wallet := range wallets {
				row, err := storedWalletRow(call.cfg, wallet, mode)
				if err != nil {
					return nil, err
				}
				rows = append(rows, row)
			}
		}
		return rows, nil
	}, "ASSET\tMODE\tSCRIPT\tFIRST ADDRESS\tCREATED\tENDED\tWALLET", func(r walletRow) []any {
		first := console.Printable(r.Key) // of a connection, which has no addresses
		if len(r.Addresses) > 0 {
			first = r.Addresses[0]
		}
		return []any{r.Asset, r.Mode, r.Script, first, s.Time(r.CreatedAt), cmp.Or(s.Time(r.ArchivedAt), "active"), r.ID}
	})
}

// storedWalletRow returns the row of a stored wallet.
func storedWalletRow(cfg config.Config, wallet merchant.Wallet, mode merchant.Mode) (walletRow, error) {
	if wallet.IsConnection() {
		return walletRow{
			ID: wallet.ID, Asset: wallet.Asset, Mode: string(mode), Key: wallet.Key, Addresses: []string{},
			CreatedAt: console.Stamp(wallet.CreatedAt), ArchivedAt: console.Stamp(wallet.ArchivedAt),
		}, nil
	}
	key, err := keys.Load(wallet.Derivation())
	if err != nil {
		return walletRow{}, fmt.Errorf("wallet %s: %w", wallet.ID, err)
	}
	if other, err := key.On(networks.KeyNetwork(cfg, key.Kind())); mode == merchant.Live && err == nil {
		key = other // otherwise the key is printed for the network with which it was added
	}
	row, err := newWalletRow(key, mode)
	row.ID, row.CreatedAt, row.ArchivedAt = wallet.ID, console.Stamp(wallet.CreatedAt), console.Stamp(wallet.ArchivedAt)
	return row, err
}

func (s *shell) walletRemove() *cobra.Command {
	return &cobra.Command{
		Use:   "remove ASSET",
		Short: "Remove the wallet of an asset: it gets no new addresses; invoices keep their addresses",
		Args:  console.Arguments,
		RunE: answer(s, func(call invocation) (map[string]string, error) {
			asset := strings.ToUpper(call.args[0])
			change, err := call.core.Wallets.Remove(call.Context(), call.shop.ID, keys.Kind(asset), "")
			if err != nil {
				return nil, err
			}
			newLogger(call.cfg).Warn("wallet removed", "merchant", call.shop.ID, "asset", asset, "wallet", change.Wallet.ID)
			return map[string]string{"removed": asset}, nil
		}, func(w io.Writer, result map[string]string) {
			fmt.Fprintln(w, "removed", result["removed"], "wallet; its addresses are watched for payments of its invoices as before")
		}),
	}
}

// newWalletRow returns the row of a key with its first addresses.
func newWalletRow(key keys.Key, mode merchant.Mode) (walletRow, error) {
	row := walletRow{Asset: string(key.Kind()), Mode: string(mode), Script: string(key.Script()), Key: key.String()}
	if key.IsChange() {
		row.Warning = changeWarning
	}
	var err error
	row.Addresses, err = firstAddresses(key, shownAddresses)
	return row, err
}

func firstAddresses(key keys.Key, count uint32) ([]string, error) {
	var addresses []string
	for i := range count {
		address, _, err := key.Address(i)
		if err != nil {
			return nil, err
		}
		addresses = append(addresses, address)
	}
	return addresses, nil
}

func (s *shell) walletSweep() *cobra.Command {
	var network string
	var asCSV bool
	c := &cobra.Command{
		Use:   "gather --network NETWORK",
		Short: "List the holdings of the addresses of the ETH wallets, including former wallets",
		Long: `Lists the addresses of invoices that hold tokens or the network's native coin, with their derivation paths in
the wallet that holds the seed. Nothing is moved: the server cannot spend.
Moving the coins, or sending an address the fee for it, does not affect a paid invoice.`,
		Example: "  chequer wallet gather --network base --csv",
		Args:    cobra.NoArgs,
		RunE: s.withShop(func(call invocation) error {
			holdings, err := sweep.Holdings(call.Context(), call.core.Storage, call.cfg, call.shop.ID, chain.ID(network), call.core.Now)
			if err != nil {
				return fmt.Errorf("wallet gather: %w", err)
			}
			if asCSV {
				return console.WriteCSV(call.OutOrStdout(), []string{"index", "path", "address", "asset", "contract", "amount", "wallet"}, holdings, func(h sweep.Holding) []string {
					return []string{fmt.Sprint(h.Index), h.Path, h.Address, h.Asset, h.Contract, h.Amount, h.Wallet}
				})
			}
			return s.Print(call.Command, holdings, func(w io.Writer) {
				if len(holdings) == 0 {
					fmt.Fprintln(w, "The addresses hold nothing.")
					return
				}
				console.WriteTable(w, "INDEX\tPATH\tADDRESS\tASSET\tAMOUNT\tWALLET", holdings, func(h sweep.Holding) []any {
					return []any{h.Index, h.Path, h.Address, h.Asset, h.Amount, h.Wallet}
				})
			})
		}),
	}
	c.Flags().StringVar(&network, "network", "", "ethereum, base or another watched network")
	c.Flags().BoolVar(&asCSV, "csv", false, "print CSV")
	if err := c.MarkFlagRequired("network"); err != nil {
		panic(err)
	}
	return c
}

// sign returns the command that signs the plan of a sweep. It uses no settings and no storage.
func (s *shell) sign() *cobra.Command {
	var r offline.Request
	c := &cobra.Command{
		Use:   "sign PLAN",
		Short: "Sign the plan of a sweep on a computer that is offline",
		Long: `Shows the plan of a sweep, asks for the recovery words and the passphrase of the wallet, which are not shown,
and for the last characters of the destination. Writes PLAN with the ending .signed.json. Its signatures can only
pay that destination. Run it on a computer that is disconnected from all networks; it needs no settings.

Standard input may be a file or a pipe of three lines: words, passphrase, last characters of the destination.

For a hardware wallet --export writes one file of typed data (eth_signTypedData_v4) for each row, and --import reads
the signatures: row-0001.sig for row-0001.json, with 0x and 130 hex digits.`,
		Example: `  chequer sign plan.json --to 0x…
  chequer sign plan.json --to 0x… --payer "m/44'/60'/1'/0/0"
  chequer sign plan.json --to 0x… --export typed
  chequer sign plan.json --to 0x… --import typed`,
		Args: console.Arguments,
		RunE: func(c *cobra.Command, args []string) error {
			r.Plan = args[0]
			session := offline.Session{
				Terminal: offline.Console{In: os.Stdin, Out: c.ErrOrStderr()}, Out: c.ErrOrStderr(),
				Now: time.Now, IsConnected: offline.IsConnected, Harden: sign.Harden,
			}
			result, err := session.Run(c.Context(), r)
			if err != nil {
				return err
			}
			return s.Print(c, result, func(w io.Writer) {
				if result.Exported != "" {
					fmt.Fprintf(w, "%d rows exported to %s. Sign each and put its signature beside it, then say --import %s.\n", result.Rows, result.Exported, result.Exported)
					return
				}
				fmt.Fprintf(w, "%d rows signed: %s. Take this file alone to the server.\n", result.Rows, result.Signed)
			})
		},
	}
	flags := c.Flags()
	flags.StringVar(&r.To, "to", "", "destination, which must be that of the plan")
	flags.StringVar(&r.Payer, "payer", "", "derivation path of the account that pays the fees; its transactions are signed too")
	flags.StringVar(&r.Account, "account", "", "derivation path of the account of the addresses, if it is not that of the plan")
	flags.StringVar(&r.Export, "export", "", "write typed data for a hardware wallet into a new folder instead")
	flags.StringVar(&r.Import, "import", "", "read the signatures of a hardware wallet from a folder instead")
	flags.StringVar(&r.MaxFee, "max-fee", "20", "highest fee of the signed transactions, in euro")
	flags.BoolVar(&r.Online, "online", false, "sign although this computer is connected")
	if err := c.MarkFlagRequired("to"); err != nil {
		panic(err)
	}
	return c
}
