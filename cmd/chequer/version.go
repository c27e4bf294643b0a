package main

import (
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// version is the version of a release, set by its build with -ldflags "-X main.version=…".
// Otherwise the version comes from the build information.
var version string

// build describes the source from which the program was built.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit"` // "" if unknown
	Date    string `json:"date"`   // of the commit, RFC 3339
	Changed bool   `json:"changed"`
	Go      string `json:"go"`
}

// buildOf returns the build that build information describes. A module built from a checkout has
// the version "(devel)" or a pseudo-version.
func buildOf(info *debug.BuildInfo, release string) build {
	b := build{Version: release, Go: info.GoVersion}
	if b.Version == "" {
		b.Version = info.Main.Version
	}
	if b.Version == "" || b.Version == "(devel)" {
		b.Version = "development"
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			b.Changed = s.Value == "true"
		}
	}
	return b
}

// String implements fmt.Stringer.
func (b build) String() string {
	parts := []string{b.Go}
	if b.Commit != "" {
		commit := "commit " + b.Commit[:min(12, len(b.Commit))]
		if b.Changed {
			commit += " with changes"
		}
		parts = append([]string{commit, b.Date}, parts...)
	}
	return b.Version + " (" + strings.Join(parts, ", ") + ")"
}

// version returns the command that shows the version.
func (s *shell) version() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version, the commit and its date",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			info, ok := debug.ReadBuildInfo()
			if !ok {
				info = &debug.BuildInfo{}
			}
			b := buildOf(info, version)
			return s.print(c, b, func(w io.Writer) { fmt.Fprintln(w, "chequer", b) })
		},
	}
}
