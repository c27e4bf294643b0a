package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"chequer/internal/proof"
)

// proof returns the group of commands about the keys that sign statements.
func (s *shell) proof() *cobra.Command {
	c := group("proof", "Show and replace the key that signs statements about the addresses of invoices")
	c.AddCommand(s.proofKey(), s.proofRotate())
	return c
}

// proofKeyRow is a key as it is printed.
type proofKeyRow struct {
	Key       proof.PublicKey `json:"key"`
	CreatedAt string          `json:"created_at"`
	RetiredAt string          `json:"retired_at"` // empty for the key that signs
}

func (s *shell) proofKey() *cobra.Command {
	return &cobra.Command{
		Use:   "key",
		Short: "Show the keys that verify statements, newest first",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return s.withKeyring(c, func(*proof.Keyring) error { return nil })
		},
	}
}

func (s *shell) proofRotate() *cobra.Command {
	return &cobra.Command{
		Use:   "rotate",
		Short: "Create a new signing key; the old one only verifies",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return s.withKeyring(c, func(keys *proof.Keyring) error { return keys.Rotate(c.Context()) })
		},
	}
}

// withKeyring calls do with the keys and prints the keys.
func (s *shell) withKeyring(c *cobra.Command, do func(*proof.Keyring) error) error {
	_, core, err := s.core(c)
	if err != nil {
		return err
	}
	defer core.Close()
	if err := core.Proofs.Ensure(c.Context()); err != nil {
		return err
	}
	if err := do(core.Proofs); err != nil {
		return err
	}
	keys, err := core.Proofs.Keys(c.Context())
	if err != nil {
		return err
	}
	rows := make([]proofKeyRow, len(keys))
	for i, k := range keys {
		rows[i] = proofKeyRow{Key: k.Public, CreatedAt: stamp(k.CreatedAt), RetiredAt: stamp(k.RetiredAt)}
	}
	return s.print(c, rows, func(w io.Writer) { fmt.Fprint(w, proof.FormatKeys(keys)) })
}
