package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"chequer/internal/chain"
	"chequer/internal/config"
	"chequer/internal/console"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/networks"
)

// candidateAddresses is the number of addresses that are printed for each possible script of a key.
const candidateAddresses = 3

func (s *shell) walletAdd() *cobra.Command {
	var script string
	var ignorePath, replace, viewKey bool
	c := &cobra.Command{
		Use:   "add ASSET KEY|FILE…",
		Short: "Use an extended public key for BTC, LTC, or ETH with every EVM network and token; or a view key for XMR",
		Long: `Uses an extended public key (xpub, ypub, zpub, Ltub, Mtub) for BTC, LTC, or ETH, which stands for
every EVM network and token. Prints the first addresses: compare them with your wallet's.

For XMR it takes the primary address of the wallet (4…) and the private view key, which it asks for without
showing it, or reads from standard input. The view key shows all payments that the wallet receives and cannot
spend. It is stored encrypted and never shown again. Use a wallet that is for the shop alone.
If there is a wallet for the asset it asks whether to replace it. Invoices made before keep their
addresses, and the former wallet stays listed. Endpoints get the event wallet.changed.

It prints which payment methods the wallet gives and why others are off. At a terminal it asks about each
setting that would give more, with its cost in privacy, and writes it into the settings file.

For BTC and LTC it also accepts a descriptor of one key: pkh, wpkh, sh(wpkh) or tr, ending in /*. Put it
in double quotes. Its checksum may be missing; a wrong checksum is refused. Of <0;1> it uses 0.
A path in brackets that contradicts the key is refused without --anyway.

It also accepts the JSON file that a wallet exports, as a file name or as text: Coldcard's generic export,
a wallet file of Electrum without secrets, BlueWallet's key with AccountKeyPath, and a file with a
descriptor, as Sparrow and Bitcoin Core write it.`,
		Example: `  chequer wallet add BTC zpub…
  chequer wallet add BTC "wpkh([73c5da0a/84h/0h/0h]xpub…/0/*)#…"
  chequer wallet add BTC coldcard-export.json --script p2wpkh
  chequer wallet add LTC xpub… --script p2wpkh
  chequer wallet add XMR 4… --view-key`,
		Args: console.Arguments,
		RunE: func(c *cobra.Command, args []string) error {
			// The arguments of the key are joined, so that a recovery phrase of several arguments is recognised.
			kind, text := keys.Kind(strings.ToUpper(args[0])), strings.Join(args[1:], " ")
			if kind == chain.CodeLightning {
				return errors.New("wallet add: a Lightning wallet is not added by a key: chequer lightning add connects it")
			}
			cfg, err := s.load()
			if err != nil {
				return err
			}
			network := networks.KeyNetwork(cfg, kind)
			if kind == keys.XMR {
				key, err := readMoneroKey(c, text, network, viewKey)
				if err != nil {
					return fmt.Errorf("wallet add: %w; nothing was changed", err)
				}
				return s.withShop(func(call invocation) error { return s.addWallet(call, key, replace) })(c, args)
			}
			if viewKey {
				return errors.New("wallet add: --view-key is for XMR only: the wallets of other assets are added by a public key")
			}
			if text, err = readExport(text); err != nil {
				return fmt.Errorf("wallet add: %w", err)
			}
			key, err := keys.Parse(text, kind, network, keys.Script(script))
			if errors.Is(err, keys.ErrScript) && script == "" {
				return s.showCandidates(c, text, kind, network, err)
			}
			if err != nil {
				return fmt.Errorf("wallet add: %w", err)
			}
			if len(key.Warnings()) > 0 && !ignorePath {
				return fmt.Errorf("wallet add: %s; nothing was changed. Check the key in your wallet, or add --anyway if these are its addresses",
					strings.Join(key.Warnings(), "; "))
			}
			return s.withShop(func(call invocation) error { return s.addWallet(call, key, replace) })(c, args)
		},
	}
	c.Flags().StringVar(&script, "script", "", "address type of a plain xpub: p2pkh, p2sh-p2wpkh, p2wpkh or p2tr")
	c.Flags().BoolVar(&replace, "replace", false, "replace the active wallet without asking")
	c.Flags().BoolVar(&viewKey, "view-key", false, "for XMR: ask for the private view key, or read it from standard input")
	c.Flags().BoolVar(&ignorePath, "anyway", false, "accept a key whose path contradicts it")
	return c
}

// maxExport bounds the size of a wallet's file of keys, in bytes.
const maxExport = 1 << 20

// readExport returns the content of the file that text names, or text itself if it
// names no file.
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

// maxViewKey bounds the size of a view key on standard input, in bytes. A recovery phrase fits, so that it is recognised.
const maxViewKey = 1 << 10

// readMoneroKey returns the key of the Monero wallet with a primary address. It asks for the private view key, or reads it
// from standard input. No error contains what was read.
func readMoneroKey(c *cobra.Command, address string, network keys.Network, isAsked bool) (keys.Key, error) {
	if err := keys.CheckMoneroAddress(address, network); err != nil {
		return keys.Key{}, err
	}
	if !isAsked {
		return keys.Key{}, errors.New("the private view key is missing: add --view-key, and enter the key when asked or give it on standard input")
	}
	text, err := readSecret(c, "Private view key", maxViewKey)
	if err != nil {
		return keys.Key{}, fmt.Errorf("read the view key: %w", err)
	}
	if text == "" {
		return keys.Key{}, errors.New("the private view key is missing: enter it when asked, or give it on standard input, as in chequer wallet add XMR 4… --view-key < key.txt")
	}
	return keys.ParseMonero(address, text, network)
}

// addWallet makes a key the current wallet and prints its first addresses.
func (s *shell) addWallet(call invocation, key keys.Key, replace bool) error {
	row, err := newWalletRow(key, merchant.Live)
	if err != nil {
		return err
	}
	methods, err := networks.MethodsOf(call.cfg, key.Kind())
	if err != nil {
		return fmt.Errorf("wallet add: %w", err)
	}
	row.Methods = &methods
	if err := call.checkNotDemo(); err != nil {
		return fmt.Errorf("wallet add: %w", err)
	}
	replaces, err := confirmReplacement(call, key, replace)
	if err != nil {
		return fmt.Errorf("wallet add: %w", err)
	}
	change, err := call.core.Wallets.Add(call.Context(), call.shop.ID, merchant.Addition{Key: key, Replaces: replaces})
	if err != nil {
		return err
	}
	row.ID, row.CreatedAt = change.Wallet.ID, console.Stamp(change.At)
	participle := "added"
	if change.Change == merchant.WalletReplaced {
		participle = "replaced; older invoices keep their addresses"
		newLogger(call.cfg).Warn("wallet replaced", "merchant", call.shop.ID, "asset", row.Asset, "wallet", row.ID, "former", change.Former.ID)
	} else {
		newLogger(call.cfg).Info("wallet added", "merchant", call.shop.ID, "asset", row.Asset, "wallet", row.ID)
	}
	err = s.Print(call.Command, row, func(w io.Writer) {
		fmt.Fprintf(w, "%s wallet %s. Compare its first addresses with your wallet's:\n", row.Asset, participle)
		printAddresses(w, row.Addresses)
		if row.Warning != "" {
			fmt.Fprintln(w, "Warning:", row.Warning)
		}
		if key.Kind() == keys.XMR {
			fmt.Fprintln(w, "Invoices get the addresses from number 1 on. Many wallets look only 200 addresses ahead of the last one with a payment: chequer doctor says when yours must look further.")
		}
		printMethods(w, methods)
	})
	if err != nil {
		return err
	}
	return s.offerMore(call.Command, key.Kind())
}

// printMethods prints the payment methods of a wallet, and those that are off with the reasons.
func printMethods(w io.Writer, m networks.Methods) {
	fmt.Fprintln(w, "Payment methods that it gives:", cmp.Or(strings.Join(m.Offered, ", "), "none"))
	for _, off := range slices.Concat(m.Off, m.More) {
		fmt.Fprintf(w, "Off: %s: %s\n", strings.Join(off.Codes, ", "), off.Reason)
	}
}

// confirmReplacement returns the ID of the current wallet that a key would replace; "" if there is none. It
// returns an error if the key is that wallet already. Unless replace is set, it asks at a terminal whether
// the wallet is to be replaced, and returns an error if it is not.
func confirmReplacement(call invocation, key keys.Key, replace bool) (id string, err error) {
	kind := key.Kind()
	current, err := call.core.Storage.Wallets(call.Context(), call.shop.ID, merchant.Live)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(current, func(w merchant.Wallet) bool { return w.Asset == string(kind) })
	if i < 0 {
		return "", nil
	}
	if same, err := current[i].HasAddresses(key); err != nil || same {
		return "", cmp.Or(err, fmt.Errorf("this key is the %s wallet already", kind))
	}
	if replace {
		return current[i].ID, nil
	}
	p, isTerminal := console.NewPrompt(call.Command)
	if !isTerminal {
		return "", fmt.Errorf("there is a wallet for %s already; nothing was changed. Add --replace to replace it", kind)
	}
	yes, err := p.Confirm(fmt.Sprintf("There is a wallet for %s already. Replace it? New invoices are paid to the new key.", kind))
	if err == nil && !yes {
		err = errors.New("nothing was changed")
	}
	return current[i].ID, err
}

// offerMore asks at a terminal about each setting that would add payment methods to a wallet,
// states its cost in privacy, and writes the accepted settings into the settings file. The server
// uses them after its next start.
func (s *shell) offerMore(c *cobra.Command, kind keys.Kind) error {
	p, isTerminal := console.NewPrompt(c)
	if !isTerminal || s.JSON {
		return nil
	}
	isAsked := map[string]bool{}
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
		i := slices.IndexFunc(choices, func(choice networks.Choice) bool { return !isAsked[choice.Setting] })
		if i < 0 {
			return s.printOffered(c, cfg, kind, isWritten)
		}
		choice := choices[i]
		isAsked[choice.Setting] = true
		yes, err := p.Confirm(choice.String() + ". Set it?")
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
		fmt.Fprintf(c.ErrOrStderr(), "%s=%s is written to %s\n", choice.Setting, choice.Value, console.Printable(cfg.File()))
	}
}

// printOffered prints the payment methods of a wallet with the settings that were written, if any.
func (s *shell) printOffered(c *cobra.Command, cfg config.Config, kind keys.Kind, isWritten bool) error {
	if !isWritten {
		return nil
	}
	methods, err := networks.MethodsOf(cfg, kind)
	if err != nil {
		return err
	}
	fmt.Fprintln(c.OutOrStdout(), "Payment methods after the next start of chequer serve:", strings.Join(methods.Offered, ", "))
	return nil
}

// candidates are the first addresses of a key with each possible script.
type candidates struct {
	Error      string                   `json:"error"`
	Candidates map[keys.Script][]string `json:"candidates"`
}

// showCandidates refuses a key without a script, and prints the addresses by which its owner can
// choose a script.
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
	if err := s.Print(c, found, func(w io.Writer) {
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

func printAddresses(w io.Writer, addresses []string) {
	for i, address := range addresses {
		fmt.Fprintf(w, "  %d  %s\n", i, address)
	}
}
