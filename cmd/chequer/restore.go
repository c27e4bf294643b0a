package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"chequer/internal/console"
	"chequer/internal/datadir"
)

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
