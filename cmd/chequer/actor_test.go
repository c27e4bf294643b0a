package main

import (
	"testing"

	"github.com/spf13/cobra"

	"chequer/internal/audit"
)

// Every command is the actor of its changes, except those that serve.
func TestActorOf_returns_the_command_unless_it_serves(t *testing.T) {
	t.Parallel()
	system := map[string]bool{"": true, "serve": true, "demo": true, "storefront": true}
	found := 0
	var check func(c *cobra.Command, name string)
	check = func(c *cobra.Command, name string) {
		if c.PersistentPreRun != nil && name != "" {
			t.Errorf("%s has its own PersistentPreRun, so that the root's does not run", name)
		}
		want := audit.Actor{Kind: audit.Command, Name: name}
		if system[name] {
			want = audit.Actor{Kind: audit.System}
			found++
		}
		if got := actorOf(c); got != want {
			t.Errorf("actorOf(%q) = %+v", name, got)
		}
		for _, sub := range c.Commands() {
			prefix := name
			if prefix != "" {
				prefix += " "
			}
			check(sub, prefix+sub.Name())
		}
	}
	check(root(nil), "")
	if found != len(system) {
		t.Errorf("found %d of %d commands of the system", found, len(system))
	}
}
