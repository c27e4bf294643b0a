package main

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"

	"chequer/internal/manual"
)

// "chequer help NAME" cannot print a topic with the name of a command.
func TestHelp_topics_are_no_commands(t *testing.T) {
	t.Parallel()
	commands := root(nil).Commands()
	for _, p := range manual.Pages() {
		if slices.ContainsFunc(commands, func(c *cobra.Command) bool { return c.Name() == p.Slug || c.HasAlias(p.Slug) }) {
			t.Errorf("the topic %s is a command", p.Slug)
		}
	}
}
