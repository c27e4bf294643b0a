// Package build describes the source from which the program was built.
package build

import (
	"runtime/debug"
	"strings"
)

// Build describes the source from which the program was built.
type Build struct {
	Version string `json:"version"` // of the release
	Commit  string `json:"commit"`  // "" if unknown
	Date    string `json:"date"`    // of the commit, RFC 3339
	Changed bool   `json:"changed"` // the source had changes that were not committed
	Go      string `json:"go"`      // version of the compiler
}

// FromInfo returns the build that build information describes. Its version is release, or else the version
// of the module, which may be a pseudo-version, or else "development".
func FromInfo(info *debug.BuildInfo, release string) Build {
	b := Build{Version: release, Go: info.GoVersion}
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
func (b Build) String() string {
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
