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
		Long:  "Brings what chequer backup wrote into the database of the settings, which must be empty, wholly or\nnot at all. The master key goes into the data directory unless it is there or in the settings. New\naddresses skip some indexes, since those may belong to invoices made after the backup.",
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
				fmt.Fprintf(w, "New addresses skip %d indexes: those may belong to invoices made after the backup.\n", r.Skipped)
				fmt.Fprintf(w, "Let your wallets look that far: most stop after 20 unused addresses unless their gap limit is raised.\n")
			})
		},
	}
}
