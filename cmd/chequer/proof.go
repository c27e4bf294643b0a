package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"chequer/internal/proof"
)

// proof is the group of commands about the keys that sign statements.
func (s *shell) proof() *cobra.Command {
	c := group("proof", "Show and replace the key that signs what addresses an invoice has")
	c.AddCommand(s.proofKey(), s.proofRotate())
	return c
}

// proofKeyRow is a key as it is shown.
type proofKeyRow struct {
	Key       proof.PublicKey `json:"key"`
	CreatedAt string          `json:"created_at"`
	RetiredAt string          `json:"retired_at"` // empty for the one that signs
}

func (s *shell) proofKey() *cobra.Command {
	return &cobra.Command{
		Use:   "key",
		Short: "Show the keys that statements are checked with, the newest first",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return s.withKeyring(c, func(*proof.Keyring) error { return nil })
		},
	}
}

func (s *shell) proofRotate() *cobra.Command {
	return &cobra.Command{
		Use:   "rotate",
		Short: "Make a new key, which signs from now on; the old one only checks",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return s.withKeyring(c, func(keys *proof.Keyring) error { return keys.Rotate(c.Context()) })
		},
	}
}

// withKeyring does something with the keys and shows them.
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
		rows[i] = proofKeyRow{Key: k.Public, CreatedAt: stamp(k.CreatedAt)}
		if !k.RetiredAt.IsZero() {
			rows[i].RetiredAt = stamp(k.RetiredAt)
		}
	}
	return s.print(c, rows, func(w io.Writer) { fmt.Fprint(w, proof.FormatKeys(keys)) })
}
