package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"chequer/internal/app"
)

// migrate returns the command that upgrades the database without serving.
func (s *shell) migrate() *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Upgrade the database of an older release, as serve does",
		Long:  "Upgrades the database to this release, which older releases then refuse. Stop their servers first. A\nSQLite database is copied before, into a file beside it; of PostgreSQL make a copy yourself, with\nchequer backup of the older release or pg_dump. Only migrate, serve, demo and restore upgrade.",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := s.load()
			if err != nil {
				return err
			}
			core, err := app.OpenCore(c.Context(), cfg, app.Options{Log: newLogger(cfg), Existing: true, Upgrade: true})
			if err != nil {
				return err
			}
			defer core.Close()
			migration := core.Storage.Migration()
			return s.print(c, migration, func(w io.Writer) {
				if migration.From == migration.To {
					fmt.Fprintf(w, "The database is of schema version %d already\n", migration.To)
					return
				}
				fmt.Fprintf(w, "Upgraded from schema version %d to %d\n", migration.From, migration.To)
				if migration.Copy != "" {
					fmt.Fprintf(w, "A copy of the old database is in %s: delete it when everything works\n", migration.Copy)
				}
			})
		},
	}
}
