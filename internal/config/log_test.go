package config_test

import (
	"log/slog"
	"testing"

	"chequer/internal/config"
)

func TestLogFormat_is_a_level_then_a_format(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]config.LogFormat{
		"":           {Level: slog.LevelInfo},
		"debug":      {Level: slog.LevelDebug},
		"json":       {Level: slog.LevelInfo, JSON: true},
		"warn,json":  {Level: slog.LevelWarn, JSON: true},
		"error,text": {Level: slog.LevelError},
	} {
		c, err := config.Load([]string{"CHEQUER_LOG=" + text})
		if err != nil || c.Log != want {
			t.Errorf("%q: %+v, %v, want %+v", text, c.Log, err, want)
		}
	}
	for _, text := range []string{"loud", "json,debug", "info,xml", "info,json,text", "info,", ",json", "text,json"} {
		if _, err := config.Load([]string{"CHEQUER_LOG=" + text}); err == nil {
			t.Errorf("%q was accepted, want an error", text)
		}
	}
}
