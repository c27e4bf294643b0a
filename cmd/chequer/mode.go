package main

import (
	"github.com/spf13/cobra"

	"chequer/internal/app"
	"chequer/internal/demo"
	"chequer/internal/merchant"
)

// testFlag adds the flag that selects test mode. The function mode reads it.
func testFlag(c *cobra.Command, usage string) {
	c.Flags().Bool("test", false, usage+"; on a demo it is the default")
}

// mode returns the mode that the flag of a command selects. Without the flag it is test mode for a demo,
// which has only test invoices, and live mode otherwise.
func mode(c *cobra.Command, core *app.Core, merchantID string) (merchant.Mode, error) {
	if f := c.Flags().Lookup("test"); f == nil || !f.Changed {
		isDemo, err := demo.IsDemo(c.Context(), core.Storage, merchantID)
		if err != nil || isDemo {
			return merchant.Test, err
		}
		return merchant.Live, nil
	}
	if test, err := c.Flags().GetBool("test"); err != nil || test {
		return merchant.Test, err
	}
	return merchant.Live, nil
}
