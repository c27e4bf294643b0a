package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"chequer/internal/app"
	"chequer/internal/config"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/networks"
)

// Numbers of addresses that are printed to compare with the wallet: for a key that is added, and
// for each possible script of a key.
const (
	shownAddresses     = 5
	candidateAddresses = 3
)

// changeWarning is printed for a key of change addresses, which wallets seldom show.
const changeWarning = "These are the addresses that a wallet keeps for its change (…/1/*), not those it receives at (…/0/*). Unless your wallet shows them as its own, add …/0/* instead."

// wallet returns the group of commands about public keys to which payments go.
func (s *shell) wallet() *cobra.Command {
	c := group("wallet", "Set the extended public keys to which payments go")
	c.AddCommand(s.walletAdd(), s.walletList(), s.walletRemove(), s.walletGather())
	return c
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
	// Methods are the payment methods of the wallet, if it is being added.
	Methods *networks.Methods `json:"payment_methods,omitempty"`
	// ArchivedAt is when the wallet was replaced or removed.
	ArchivedAt string `json:"archived_at,omitempty"`
}

func (s *shell) walletAdd() *cobra.Command {
	var script string
	var anyway, replace bool
	c := &cobra.Command{
		Use:   "add ASSET KEY|FILE…",
		Short: "Use an extended public key for BTC, LTC, or ETH with every EVM network and token",
		Long: `Uses an extended public key (xpub, ypub, zpub, Ltub, Mtub) for BTC, LTC, or ETH, which stands for
every EVM network and token. Prints the first addresses: compare them with your wallet's.
If there is a wallet for the asset it asks whether to replace it. Invoices made before keep their
addresses, and the former wallet stays listed. Endpoints get the event wallet.changed.

It says which payment methods the wallet gives and why others are off. At a terminal it asks about each
setting that would give more, with its price in privacy, and writes it into the settings file.

For BTC and LTC a descriptor of one key does as well: pkh, wpkh, sh(wpkh) or tr, ending in /*. Put it
in double quotes. Its checksum may be missing; a wrong one is refused. Of <0;1> the first is taken.
A path in brackets that contradicts the key is refused without --anyway.

The JSON file that a wallet exports does too, as a file name or as text: Coldcard's generic export, a
wallet file of Electrum without secrets, BlueWallet's key with AccountKeyPath, and a file with a
descriptor, as Sparrow and Bitcoin Core write it.`,
		Example: `  chequer wallet add BTC zpub…
  chequer wallet add BTC "wpkh([73c5da0a/84h/0h/0h]xpub…/0/*)#…"
  chequer wallet add BTC coldcard-export.json --script p2wpkh
  chequer wallet add LTC xpub… --script p2wpkh`,
		Args: arguments,
		RunE: func(c *cobra.Command, args []string) error {
			// Arguments with spaces are joined, so that the words of a wallet are recognised.
			kind, text := keys.Kind(strings.ToUpper(args[0])), strings.Join(args[1:], " ")
			text, err := readExport(text)
			if err != nil {
				return fmt.Errorf("wallet add: %w", err)
			}
			cfg, err := s.load()
			if err != nil {
				return err
			}
			network := networks.KeyNetwork(cfg, kind)
			key, err := keys.Parse(text, kind, network, keys.Script(script))
			if errors.Is(err, keys.ErrScript) && script == "" {
				return s.showCandidates(c, text, kind, network, err)
			}
			if err != nil {
				return fmt.Errorf("wallet add: %w", err)
			}
			if len(key.Warnings()) > 0 && !anyway {
				return fmt.Errorf("wallet add: %s; nothing was changed. Check the key in your wallet, or add --anyway if these are its addresses",
					strings.Join(key.Warnings(), "; "))
			}
			return s.addWallet(c, key, replace)
		},
	}
	c.Flags().StringVar(&script, "script", "", "address type of a plain xpub: p2pkh, p2sh-p2wpkh, p2wpkh or p2tr")
	c.Flags().BoolVar(&replace, "replace", false, "replace the wallet in force without asking")
	c.Flags().BoolVar(&anyway, "anyway", false, "take a key whose path contradicts it")
	return c
}

// maxExport bounds the size of a wallet's file of keys, in bytes.
const maxExport = 1 << 20

// readExport returns the content of the file that text names, or text itself if it
// names none.
func readExport(text string) (string, error) {
	info, err := os.Stat(text)
	if err != nil || !info.Mode().IsRegular() {
		return text, nil
	}
	if info.Size() > maxExport {
		return "", errors.New("the file is too large for the export of a wallet")
	}
	content, err := os.ReadFile(text)
	if err != nil {
		return "", errors.New("the file cannot be read")
	}
	return string(content), nil
}

// addWallet makes a key the current wallet and prints its first addresses.
func (s *shell) addWallet(c *cobra.Command, key keys.Key, replace bool) error {
	row, err := newWalletRow(key, merchant.Live)
	if err != nil {
		return err
	}
	cfg, core, shop, err := s.shop(c)
	if err != nil {
		return err
	}
	defer core.Close()
	gives, err := networks.MethodsOf(cfg, key.Kind())
	if err != nil {
		return fmt.Errorf("wallet add: %w", err)
	}
	row.Methods = &gives
	if err := refuseDuplicate(c.Context(), core, shop.ID, key); err != nil {
		return fmt.Errorf("wallet add: %w", err)
	}
	former, err := core.Storage.Wallets(c.Context(), shop.ID, merchant.Live)
	if err != nil {
		return fmt.Errorf("wallet add: %w", err)
	}
	inForce := slices.ContainsFunc(former, func(w merchant.Wallet) bool { return w.Asset == row.Asset })
	if inForce && !replace {
		if err := confirmReplacement(c, row.Asset); err != nil {
			return fmt.Errorf("wallet add: %w", err)
		}
	}
	change, err := core.Wallets.Add(c.Context(), shop.ID, key)
	if err != nil {
		return err
	}
	row.ID, row.CreatedAt = change.Wallet.ID, stamp(change.At)
	done := "added"
	if change.Change == merchant.WalletReplaced {
		done = "replaced; older invoices keep their addresses"
		newLogger(cfg).Warn("wallet replaced", "merchant", shop.ID, "asset", row.Asset, "wallet", row.ID, "former", change.Former.ID)
	} else {
		newLogger(cfg).Info("wallet added", "merchant", shop.ID, "asset", row.Asset, "wallet", row.ID)
	}
	err = s.print(c, row, func(w io.Writer) {
		fmt.Fprintf(w, "%s wallet %s. Compare its first addresses with your wallet's:\n", row.Asset, done)
		printAddresses(w, row.Addresses)
		if row.Warning != "" {
			fmt.Fprintln(w, "Warning:", row.Warning)
		}
		printMethods(w, gives)
	})
	if err != nil {
		return err
	}
	return s.offerMore(c, key.Kind())
}

// printMethods prints the payment methods of a wallet, and those that are off with the reasons.
func printMethods(w io.Writer, m networks.Methods) {
	fmt.Fprintln(w, "Payment methods that it gives:", orElse(strings.Join(m.Offered, ", "), "none"))
	for _, off := range slices.Concat(m.Off, m.More) {
		fmt.Fprintf(w, "Off: %s: %s\n", strings.Join(off.Codes, ", "), off.Reason)
	}
}

// confirmReplacement asks at a terminal whether the wallet of an asset is to be replaced.
// It returns an error unless the answer is yes.
func confirmReplacement(c *cobra.Command, asset string) error {
	p, isTerminal := newPrompt(c)
	if !isTerminal {
		return fmt.Errorf("there is a wallet for %s already; nothing was changed. Add --replace to replace it", asset)
	}
	yes, err := p.confirm(fmt.Sprintf("There is a wallet for %s already. Replace it? New invoices are paid to the new key.", asset))
	if err == nil && !yes {
		err = errors.New("nothing was changed")
	}
	return err
}

// offerMore asks at a terminal about each setting that would add payment methods to a wallet,
// states its cost in privacy, and writes the accepted ones into the settings file. The server uses
// them after its next start.
func (s *shell) offerMore(c *cobra.Command, kind keys.Kind) error {
	p, isTerminal := newPrompt(c)
	if !isTerminal || s.json {
		return nil
	}
	asked := map[string]bool{}
	isWritten := false
	for {
		cfg, err := s.load() // an answer changes the methods of the next choice
		if err != nil {
			return err
		}
		choices, err := networks.ChoicesOf(cfg, kind)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(choices, func(choice networks.Choice) bool { return !asked[choice.Setting] })
		if i < 0 {
			return s.printOffered(c, cfg, kind, isWritten)
		}
		choice := choices[i]
		asked[choice.Setting] = true
		yes, err := p.confirm(choice.String() + ". Set it?")
		if err != nil {
			return err
		}
		if !yes {
			continue
		}
		if err := cfg.Save(choice.Setting, choice.Value); err != nil {
			fmt.Fprintln(c.ErrOrStderr(), err) // the wallet has been added nevertheless
			continue
		}
		isWritten = true
		fmt.Fprintf(c.ErrOrStderr(), "%s=%s is written to %s\n", choice.Setting, choice.Value, printable(cfg.File()))
	}
}

// printOffered prints the payment methods of a wallet with the settings that were written, if any.
func (s *shell) printOffered(c *cobra.Command, cfg config.Config, kind keys.Kind, isWritten bool) error {
	if !isWritten {
		return nil
	}
	gives, err := networks.MethodsOf(cfg, kind)
	if err != nil {
		return err
	}
	fmt.Fprintln(c.OutOrStdout(), "Payment methods after the next start of chequer serve:", strings.Join(gives.Offered, ", "))
	return nil
}

// refuseDuplicate returns an error if a current wallet of the merchant has the same addresses as
// key, even if its key was written differently.
func refuseDuplicate(ctx context.Context, core *app.Core, merchantID string, key keys.Key) error {
	list, err := core.Storage.Wallets(ctx, merchantID, merchant.Live)
	if err != nil {
		return err
	}
	for _, wallet := range list {
		have, err := keys.Load(wallet.Key)
		if err != nil {
			return fmt.Errorf("wallet %s: %w", wallet.ID, err)
		}
		if there, err := have.On(key.Network()); err == nil && there.Same(key) {
			return fmt.Errorf("this key is the %s wallet already", key.Kind())
		}
	}
	return nil
}

// candidates are the first addresses of a key with each possible script.
type candidates struct {
	Error      string                   `json:"error"`
	Candidates map[keys.Script][]string `json:"candidates"`
}

// showCandidates refuses a key without a script, and prints the addresses by which its owner can
// choose one.
func (s *shell) showCandidates(c *cobra.Command, text string, kind keys.Kind, network keys.Network, refusal error) error {
	refusal = fmt.Errorf("wallet add: %w", refusal)
	found := candidates{Error: refusal.Error(), Candidates: map[keys.Script][]string{}}
	for _, script := range keys.Scripts(kind) {
		key, err := keys.Parse(text, kind, network, script)
		if err != nil {
			return fmt.Errorf("wallet add: %w", err)
		}
		if found.Candidates[script], err = firstAddresses(key, candidateAddresses); err != nil {
			return err
		}
	}
	if err := s.print(c, found, func(w io.Writer) {
		fmt.Fprintln(w, "Which of these are the first addresses of your wallet?")
		for _, script := range keys.Scripts(kind) {
			fmt.Fprintf(w, "--script %s\n", script)
			printAddresses(w, found.Candidates[script])
		}
	}); err != nil {
		return err
	}
	return refusal
}

func (s *shell) walletList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the wallets with their first addresses, former ones too",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, core, shop, err := s.shop(c)
			if err != nil {
				return err
			}
			defer core.Close()
			rows := []walletRow{}
			for _, mode := range []merchant.Mode{merchant.Live, merchant.Test} {
				list, err := core.Storage.AllWallets(c.Context(), shop.ID, mode)
				if err != nil {
					return err
				}
				for _, wallet := range list {
					key, err := keys.Load(wallet.Key)
					if err != nil {
						return fmt.Errorf("wallet %s: %w", wallet.ID, err)
					}
					if there, err := key.On(networks.KeyNetwork(cfg, key.Kind())); mode == merchant.Live && err == nil {
						key = there // otherwise it is printed as it was added, for another network
					}
					row, err := newWalletRow(key, mode)
					if err != nil {
						return err
					}
					row.ID, row.CreatedAt, row.ArchivedAt = wallet.ID, stamp(wallet.CreatedAt), stamp(wallet.ArchivedAt)
					rows = append(rows, row)
				}
			}
			return s.print(c, rows, func(w io.Writer) {
				table(w, "ASSET\tMODE\tSCRIPT\tFIRST ADDRESS\tADDED\tENDED\tWALLET", rows, func(r walletRow) []any {
					return []any{r.Asset, r.Mode, r.Script, r.Addresses[0], s.when(r.CreatedAt), orElse(s.when(r.ArchivedAt), "in force"), r.ID}
				})
			})
		},
	}
}

func (s *shell) walletRemove() *cobra.Command {
	return &cobra.Command{
		Use:   "remove ASSET",
		Short: "Remove the wallet of an asset: it gets no new addresses; invoices keep theirs",
		Args:  arguments,
		RunE: func(c *cobra.Command, args []string) error {
			cfg, core, shop, err := s.shop(c)
			if err != nil {
				return err
			}
			defer core.Close()
			asset := strings.ToUpper(args[0])
			change, err := core.Wallets.Remove(c.Context(), shop.ID, keys.Kind(asset))
			if err != nil {
				return err
			}
			newLogger(cfg).Warn("wallet removed", "merchant", shop.ID, "asset", asset, "wallet", change.Wallet.ID)
			return s.print(c, map[string]string{"removed": asset}, func(w io.Writer) {
				fmt.Fprintln(w, "removed", asset, "wallet; its addresses are watched for payments of its invoices as before")
			})
		},
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

func printAddresses(w io.Writer, addresses []string) {
	for i, address := range addresses {
		fmt.Fprintf(w, "  %d  %s\n", i, address)
	}
}
