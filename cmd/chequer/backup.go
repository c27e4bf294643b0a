package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"chequer/internal/config"
	"chequer/internal/console"
	"chequer/internal/datadir"
	"chequer/internal/storage/backup"
)

// backup returns the command that writes the database and the master key into one file.
func (s *shell) backup() *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write the database and the master key into one file under a passphrase",
		Long:  "Writes the current database and the master key into one file, encrypted with a passphrase, and reads\nit back before it gets its name. The server may run at the same time. chequer restore accepts the file\nfor SQLite and for PostgreSQL, whichever wrote it. The passphrase is read from CHEQUER_PASSPHRASE or\nCHEQUER_PASSPHRASE_FILE, or else at the terminal.",
		Args:  console.Arguments,
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
				backup.Manifest
			}{args[0], m}
			return s.Print(c, result, func(w io.Writer) {
				fmt.Fprintf(w, "%s written and read back: %d rows of %d tables, and the master key\n", args[0], m.Total(), len(m.Rows))
				fmt.Fprintln(w, "Keep its passphrase apart from it: without the passphrase the file cannot be restored, and with it the file gives full control of your server.")
			})
		},
	}
	c.Flags().BoolVar(&force, "force", false, "replace FILE if it exists")
	return c
}

// newPassphrase returns the passphrase of the settings, or a passphrase that is typed twice at the
// terminal.
func newPassphrase(ctx context.Context, cfg config.Config) (string, error) {
	first, err := passphrase(ctx, cfg, "Passphrase for the backup: ")
	if err != nil || cfg.Passphrase != "" {
		return first, err
	}
	second, err := passphrase(ctx, cfg, "Repeat the passphrase: ")
	if err == nil && second != first {
		return "", errors.New("the two passphrases differ")
	}
	return second, err
}

// passphrase returns the passphrase of the settings, or a passphrase that is typed at the terminal
// without an echo.
func passphrase(ctx context.Context, cfg config.Config, question string) (string, error) {
	if cfg.Passphrase != "" {
		return cfg.Passphrase, nil
	}
	text, err := console.ReadSecret(ctx, question)
	if errors.Is(err, console.ErrNoTerminal) {
		err = fmt.Errorf("CHEQUER_PASSPHRASE or CHEQUER_PASSPHRASE_FILE is missing, and %w to ask for the passphrase", err)
	}
	return text, err
}

// restore returns the command that restores a backup.
func (s *shell) restore() *cobra.Command {
	return &cobra.Command{
		Use:   "restore FILE",
		Short: "Restore a backup into an empty database of either engine",
		Long:  "Restores a file of chequer backup, completely or not at all. The database of the settings must be empty.\nThe master key is written to the data directory unless it is there or in the settings. New addresses\nskip some indexes, because invoices created after the backup may have used them.",
		Args:  console.Arguments,
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := s.load()
			if err != nil {
				return err
			}
			r, err := datadir.Restore(c.Context(), cfg, args[0], datadir.RestoreOptions{
				Log:        newLogger(cfg),
				Passphrase: func() (string, error) { return passphrase(c.Context(), cfg, "Passphrase of the backup: ") },
			})
			if err != nil {
				return err
			}
			return s.Print(c, r, func(w io.Writer) {
				fmt.Fprintf(w, "restored %d rows of %d tables, as they were at %s\n", r.Total(), len(r.Rows), s.Time(console.Stamp(r.CreatedAt)))
				if r.MasterKeyFile != "" {
					fmt.Fprintf(w, "master key written to %s\n", r.MasterKeyFile)
				}
				fmt.Fprintf(w, "New addresses skip %d indexes, because invoices created after the backup may have used them.\n", r.Skipped)
				fmt.Fprintf(w, "Raise the gap limit of your wallets accordingly: most do not look for payments beyond 20 unused addresses.\n")
			})
		},
	}
}
