package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// arguments checks the arguments of a command against its use, such as "show ID" or "deliveries
// ENDPOINT [EVENT]". The error names the first missing argument and never repeats an argument,
// which may be a secret.
func arguments(c *cobra.Command, args []string) error {
	var names []string
	required, repeats := 0, false
	for _, name := range strings.Fields(c.Use)[1:] {
		names = append(names, name)
		if !strings.HasPrefix(name, "[") {
			required = len(names)
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
