package main

import (
	"github.com/spf13/cobra"

	"chequer/internal/app"
	"chequer/internal/merchant"
)

// testFlag adds the flag that selects test invoices; mode reads it.
func testFlag(c *cobra.Command, usage string) {
	c.Flags().Bool("test", false, usage+"; on a demo it is the default")
}

// mode returns the mode of a command: that of its flag, or else that of the shop, because a demo
// has only test invoices.
func mode(c *cobra.Command, core *app.Core, merchantID string) (merchant.Mode, error) {
	if f := c.Flags().Lookup("test"); f == nil || !f.Changed {
		demo, err := core.IsDemo(c.Context(), merchantID)
		if err != nil || demo {
			return merchant.Test, err
		}
		return merchant.Live, nil
	}
	if test, err := c.Flags().GetBool("test"); err != nil || test {
		return merchant.Test, err
	}
	return merchant.Live, nil
}
