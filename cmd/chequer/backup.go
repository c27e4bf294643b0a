package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"chequer/internal/config"
	"chequer/internal/datadir"
	"chequer/internal/storage"
)

// backup returns the command that writes the database and the master key into one file.
func (s *shell) backup() *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write the database and the master key into one file under a passphrase",
		Long:  "Writes the database as it is now and the master key into one file, encrypted with a passphrase, and\nreads it back before it gets its name. The server may go on running. The file fits SQLite and\nPostgreSQL: chequer restore also moves from one to the other. The passphrase comes from\nCHEQUER_PASSPHRASE or CHEQUER_PASSPHRASE_FILE, or is asked for.",
		Args:  arguments,
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := s.load()
			if err != nil {
				return err
			}
			m, err := datadir.Backup(c.Context(), cfg, args[0], datadir.BackupOptions{
				Force: force, Passphrase: func() (string, error) { return newPassphrase(c.Context(), cfg) },
			})
			if err != nil {
				return err
			}
			result := struct {
				File string `json:"file"`
				storage.Manifest
			}{args[0], m}
			return s.print(c, result, func(w io.Writer) {
				fmt.Fprintf(w, "%s written and read back: %d rows of %d tables, and the master key\n", args[0], m.Total(), len(m.Rows))
				fmt.Fprintln(w, "Keep its passphrase apart from it: without the passphrase the file cannot be restored, and with it the file gives full control of your server.")
			})
		},
	}
	c.Flags().BoolVar(&force, "force", false, "replace FILE if it exists")
	return c
}

// newPassphrase returns the passphrase of the settings, or one that is typed twice at the terminal.
func newPassphrase(ctx context.Context, cfg config.Config) (string, error) {
	first, err := passphrase(ctx, cfg, "Passphrase for the backup: ")
	if err != nil || cfg.Passphrase != "" {
		return first, err
	}
	second, err := passphrase(ctx, cfg, "Repeat the passphrase: ")
	if err == nil && second != first {
		return "", errors.New("these are two passphrases")
	}
	return second, err
}

// passphrase returns the passphrase of the settings, or one that is typed at the terminal without
// an echo.
func passphrase(ctx context.Context, cfg config.Config, prompt string) (string, error) {
	if cfg.Passphrase != "" {
		return cfg.Passphrase, nil
	}
	terminal := int(os.Stdin.Fd())
	before, err := term.GetState(terminal)
	if err != nil {
		return "", errors.New("CHEQUER_PASSPHRASE or CHEQUER_PASSPHRASE_FILE is missing, and there is no terminal to ask for the passphrase")
	}
	fmt.Fprint(os.Stderr, prompt)
	defer fmt.Fprintln(os.Stderr)
	type answer struct {
		text []byte
		err  error
	}
	typed := make(chan answer, 1)
	go func() { // if nothing is typed, it ends with the program
		text, err := term.ReadPassword(terminal)
		typed <- answer{text, err}
	}()
	select {
	case a := <-typed:
		return string(a.text), a.err
	case <-ctx.Done():
		return "", errors.Join(ctx.Err(), term.Restore(terminal, before))
	}
}
