package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"chequer/internal/console"
	"chequer/internal/proof"
)

// proof returns the group of commands about the keys that sign statements.
func (s *shell) proof() *cobra.Command {
	return console.Group("proof", "Show and replace the key that signs statements about the addresses of invoices",
		s.keyringCommand("key", "Show the keys that verify statements, newest first", func(invocation) error { return nil }),
		s.keyringCommand("rotate", "Create a new signing key; the old one only verifies", func(call invocation) error { return call.core.Proofs.Rotate(call.Context()) }))
}

// proofKeyRow is a key as it is printed.
type proofKeyRow struct {
	Key       proof.PublicKey `json:"key"`
	CreatedAt string          `json:"created_at"`
	RetiredAt string          `json:"retired_at"` // empty for the key that signs
}

// keyringCommand returns a command that calls do and prints the keys.
func (s *shell) keyringCommand(use, short string, do func(invocation) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: console.Arguments,
		RunE: s.withShop(func(call invocation) error {
			if err := call.core.Proofs.Ensure(call.Context()); err != nil {
				return err
			}
			if err := do(call); err != nil {
				return err
			}
			keys, err := call.core.Proofs.Keys(call.Context())
			if err != nil {
				return err
			}
			rows := convertAll(keys, func(k proof.Key) proofKeyRow {
				return proofKeyRow{Key: k.Public, CreatedAt: console.Stamp(k.CreatedAt), RetiredAt: console.Stamp(k.RetiredAt)}
			})
			return s.Print(call.Command, rows, func(w io.Writer) { fmt.Fprint(w, proof.FormatKeys(keys)) })
		}),
	}
}

// maxKeyFile is the maximum size of a file of keys, in bytes.
const maxKeyFile = 64 << 10

// verification is the content of a verified statement.
type verification struct {
	Good    bool     `json:"good"`
	Server  string   `json:"server"`
	Invoice string   `json:"invoice"`
	Mode    string   `json:"mode"`
	Quote   int      `json:"quote"`
	From    string   `json:"from"`
	Until   string   `json:"until"`
	Amount  string   `json:"amount"`
	Pay     []string `json:"pay"`
	Key     string   `json:"key"`
	// Found are the payment methods that have the given address or payment link.
	Found []string `json:"found"`
}

// verify returns the command that verifies a statement. It needs no settings, no database and no
// network.
func (s *shell) verify() *cobra.Command {
	var keys []string
	var shown, invoice, timeText string
	c := &cobra.Command{
		Use:   "verify FILE|-",
		Short: "Check the signed statement of an invoice's addresses",
		Long: `Checks the signed statement of an invoice's addresses, as /invoice/ID/proof.txt returns it, with a key that you
have from another source. With --address it also checks that the statement contains an address that a wallet, a phone
or a page shows, or the payment link of a QR code. It uses no network.`,
		Example: `  chequer verify proof.txt --key ed25519:11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo
  chequer verify proof.txt --key shop.keys --address "bitcoin:bc1q…?amount=0.00065379"`,
		Args: console.Arguments,
		RunE: func(c *cobra.Command, args []string) error {
			trusted, err := readKeys(keys)
			if err != nil {
				return err
			}
			now := time.Now()
			if timeText != "" {
				if now, err = time.Parse(time.RFC3339, timeText); err != nil {
					return fmt.Errorf("--at %q is not a time such as 2026-11-27T12:00:00Z", timeText)
				}
			}
			text, err := readInput(c.InOrStdin(), args[0], proof.MaxSize)
			if err != nil {
				return err
			}
			found, err := verifyText(text, trusted, shown, invoice, now)
			if err != nil {
				return err
			}
			return s.Print(c, found, found.write)
		},
	}
	c.Flags().StringArrayVar(&keys, "key", nil, "a key that you trust, or a file of trusted keys; may be repeated")
	c.Flags().StringVar(&shown, "address", "", "an address or payment link that the statement must contain")
	c.Flags().StringVar(&invoice, "invoice", "", "the invoice that the statement must be about: its identifier, or the address of its page")
	c.Flags().StringVar(&timeText, "at", "", "time at which the statement must be valid (default now)")
	return c
}

// readKeys reads the trusted keys: each text is a key, or the name of a file of keys.
func readKeys(keys []string) ([]proof.Trusted, error) {
	if len(keys) == 0 {
		return nil, errors.New("give the key that you trust with --key: anyone can sign a statement with another key")
	}
	var trusted []proof.Trusted
	for _, k := range keys {
		if key, err := proof.ParsePublicKey(k); err == nil {
			trusted = append(trusted, proof.Trusted{Public: key})
			continue
		}
		text, err := readInput(nil, k, maxKeyFile)
		if err != nil {
			return nil, fmt.Errorf("--key %s is %w, nor a file: %w", k, proof.ErrKey, err)
		}
		parsed, err := proof.ParseKeys(text)
		if err != nil {
			return nil, fmt.Errorf("--key %s: %w", k, err)
		}
		trusted = append(trusted, parsed...)
	}
	return trusted, nil
}

// readInput reads a file, or standard input if its name is -. It reads at most limit+1
// bytes, so that the caller can recognise an input that is too long.
func readInput(in io.Reader, name string, limit int64) (string, error) {
	if name != "-" || in == nil {
		f, err := os.Open(name)
		if err != nil {
			return "", err
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	return string(text), nil
}

// verifyText checks that a statement is signed with a trusted key and valid at a time. If an invoice or
// a shown address is given, the statement must be about that invoice and contain that address.
func verifyText(text string, trusted []proof.Trusted, shown, invoice string, now time.Time) (result verification, err error) {
	signed, err := proof.Parse(text)
	if err != nil {
		return result, fmt.Errorf("do not trust the statement: %w", err)
	}
	statement, err := signed.Verify(trusted)
	if errors.Is(err, proof.ErrUntrusted) {
		return result, fmt.Errorf("do not trust the statement: %w: %s", err, signed.Key())
	}
	if err != nil {
		return result, fmt.Errorf("do not trust the statement: %w", err)
	}
	if err := statement.CheckExpiry(now); err != nil {
		return result, fmt.Errorf("do not pay: the statement is genuine, but %w: %s", err, console.Stamp(statement.Until))
	}
	page, _, _ := strings.Cut(invoice, "?")
	if invoice != "" && invoice != statement.Invoice && page != statement.Server+"/invoice/"+statement.Invoice {
		return result, fmt.Errorf("do not pay: the statement is genuine, but about another invoice: %s/invoice/%s, %s", statement.Server, statement.Invoice, console.Fiat(statement.Amount, statement.Currency))
	}
	result = verification{
		Good: true, Server: statement.Server, Invoice: statement.Invoice, Mode: statement.Mode, Quote: statement.Quote, From: console.Stamp(statement.From), Until: console.Stamp(statement.Until),
		Amount: statement.Amount + " " + statement.Currency, Pay: convertAll(statement.Methods, proof.Method.String), Key: string(signed.Key()), Found: []string{},
	}
	if shown == "" {
		return result, nil
	}
	target, err := proof.ParseShown(shown)
	if err != nil {
		return result, fmt.Errorf("do not pay: --address: %w", err)
	}
	found, err := statement.Find(target)
	if err != nil {
		return result, fmt.Errorf("do not pay: the statement is genuine, but does not contain --address: %w", err)
	}
	result.Found = convertAll(found, proof.Method.String)
	return result, nil
}

// write prints the statement.
func (v verification) write(w io.Writer) {
	digits, currency, _ := strings.Cut(v.Amount, " ")
	fmt.Fprintf(w, "Good: signed by the key that you trust.\n\nserver   %s\ninvoice  %s\namount   %s\nuntil    %s\n", v.Server, v.Invoice, console.Fiat(digits, currency), v.Until)
	for _, method := range v.Pay {
		fmt.Fprintln(w, "pay     ", method)
	}
	if v.Mode == "test" {
		fmt.Fprintln(w, "\nThis is a test invoice: do not send real money.")
	}
	if len(v.Found) > 0 {
		fmt.Fprintf(w, "\nThe statement contains the address:\n  %s\n", strings.Join(v.Found, "\n  "))
	}
}
