package config

import (
	"fmt"
	"log/slog"
	"strings"
)

// LogFormat is the level and the format of the log.
type LogFormat struct {
	Level slog.Level
	JSON  bool
}

// logLevels are the possible levels.
var logLevels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}

// UnmarshalText implements encoding.TextUnmarshaler. The text is a level, a format, or
// a level and a format with a comma between them.
func (f *LogFormat) UnmarshalText(text []byte) error {
	*f = LogFormat{}
	for i, word := range strings.Split(string(text), ",") {
		level, isLevel := logLevels[word]
		switch {
		case isLevel && i == 0:
			f.Level = level
		case word == "json" || word == "text":
			f.JSON = word == "json"
			if i < strings.Count(string(text), ",") {
				return fmt.Errorf("%q: the format comes last, as in debug,json", text)
			}
		default:
			return fmt.Errorf("%q: must be debug, info, warn or error, and optionally text or json, as in debug,json", text)
		}
	}
	return nil
}

// String implements fmt.Stringer.
func (f LogFormat) String() string {
	format := "text"
	if f.JSON {
		format = "json"
	}
	return strings.ToLower(f.Level.String()) + "," + format
}
