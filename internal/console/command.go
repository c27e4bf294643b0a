package console

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Group returns a command that only has subcommands and prints its help.
func Group(name, short string, subcommands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: name, Short: short, Args: NoCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(subcommands...)
	return c
}

// NoCommand refuses an unknown command without repeating it: it may be a private key that was
// pasted without its command.
func NoCommand(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return errors.New("there is no such command; chequer --help lists them")
	}
	return nil
}

// Arguments checks the arguments of a command against its use, such as "show ID" or "deliveries
// ENDPOINT [EVENT]". The error names the first missing argument. If the command takes arguments, the
// error does not repeat them, because they may be secrets.
func Arguments(c *cobra.Command, args []string) error {
	names := strings.Fields(c.Use)[1:]
	if len(names) == 0 {
		return cobra.NoArgs(c, args)
	}
	required, repeats := 0, false
	for i, name := range names {
		if !strings.HasPrefix(name, "[") {
			required = i + 1
		}
		repeats = strings.HasSuffix(strings.TrimSuffix(name, "]"), "…")
	}
	usage := c.CommandPath() + strings.TrimPrefix(c.Use, c.Name())
	switch {
	case len(args) < required:
		return fmt.Errorf("%s is missing: %s", strings.TrimSuffix(names[len(args)], "…"), usage)
	case len(args) > len(names) && !repeats:
		return fmt.Errorf("there are too many arguments: %s", usage)
	}
	return nil
}
