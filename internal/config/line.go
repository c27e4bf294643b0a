package config

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
)

// LoadedFile returns the path of the settings file that was read; "" if there was none.
func (c Config) LoadedFile() string { return c.file }

// File returns the path of the settings file that was read. If none was read, it returns the path of
// the file to create in the data directory.
func (c Config) File() string { return cmp.Or(c.file, filepath.Join(c.DataDir, fileName)) }

// SourceDefault is the source of a setting that was not set.
const SourceDefault = "default"

// Source returns where a setting was set: "environment", SourceDefault, the settings file,
// or "file" and the path of the file that holds the value.
func (c Config) Source(name string) string {
	if source, isGiven := c.source[name]; isGiven {
		return source
	}
	return SourceDefault
}

// SetLine returns the text of a settings file with the value of a setting: in place of its line, or
// in a new last line. Other lines are unchanged. The value must not need quotes.
func SetLine(text, name, value string) string {
	lines := strings.SplitAfter(text, "\n")
	i := slices.IndexFunc(lines, func(line string) bool {
		line = strings.TrimSpace(strings.TrimPrefix(line, "\ufeff"))
		assigned, _, isPair := strings.Cut(line, "=")
		return isPair && strings.TrimSpace(strings.TrimPrefix(assigned, "export ")) == name
	})
	if i >= 0 {
		lines[i] = name + "=" + value + "\n"
		return strings.Join(lines, "")
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + name + "=" + value + "\n"
}
