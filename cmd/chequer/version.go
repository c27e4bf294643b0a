package main

import (
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the build of a release.
var version = "development"

// version is the command that says what this is.
func (s *shell) version() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say which version this is",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			info := map[string]string{"version": version}
			if build, ok := debug.ReadBuildInfo(); ok {
				info["go"] = build.GoVersion
			}
			return s.print(c, info, func(w io.Writer) {
				fmt.Fprintf(w, "chequer %s (%s)\n", info["version"], info["go"])
			})
		},
	}
}
