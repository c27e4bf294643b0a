package config_test

import (
	"testing"

	"chequer/internal/config"
)

func TestSetLine_replaces_or_appends_the_setting(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"a new file":            {"", "CHEQUER_X=on\n"},
		"no such line":          {"CHEQUER_Y=1\n", "CHEQUER_Y=1\nCHEQUER_X=on\n"},
		"no line feed at end":   {"CHEQUER_Y=1", "CHEQUER_Y=1\nCHEQUER_X=on\n"},
		"a line":                {"CHEQUER_X=off\nCHEQUER_Y=1\n", "CHEQUER_X=on\nCHEQUER_Y=1\n"},
		"a last line":           {"CHEQUER_Y=1\nCHEQUER_X=off", "CHEQUER_Y=1\nCHEQUER_X=on\n"},
		"another spelling":      {" export CHEQUER_X = \"off\"\r\nCHEQUER_Y=1\r\n", "CHEQUER_X=on\nCHEQUER_Y=1\r\n"},
		"a byte order mark":     {"\ufeffCHEQUER_X=off\n", "CHEQUER_X=on\n"},
		"a comment":             {"# CHEQUER_X=off\n", "# CHEQUER_X=off\nCHEQUER_X=on\n"},
		"a name that is longer": {"CHEQUER_XY=off\n", "CHEQUER_XY=off\nCHEQUER_X=on\n"},
	} {
		if got := config.SetLine(test.text, "CHEQUER_X", "on"); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
