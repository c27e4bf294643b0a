package offline

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestIsConnected_reads_the_interfaces_of_Linux(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		interfaces map[string]string // flags and operstate by name
		want       bool
	}{
		"loopback alone":          {map[string]string{"lo": "0x9 unknown"}, false},
		"a cable":                 {map[string]string{"lo": "0x9 unknown", "eth0": "0x1003 up"}, true},
		"a cable that is pulled":  {map[string]string{"eth0": "0x1003 down"}, false},
		"a disabled interface":    {map[string]string{"wlan0": "0x1002 down"}, false},
		"a wireless network":      {map[string]string{"wlan0": "0x1003 up", "eth0": "0x1003 down"}, true},
		"a tunnel":                {map[string]string{"wg0": "0x91 unknown"}, true},
		"an interface that waits": {map[string]string{"wlan0": "0x1003 dormant"}, true},
		"no interface":            {nil, false},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			if err := os.WriteFile(filepath.Join(folder, "bonding_masters"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			for name, values := range tt.interfaces {
				flags, state, _ := strings.Cut(values, " ")
				if err := errors.Join(os.Mkdir(filepath.Join(folder, name), 0o700),
					os.WriteFile(filepath.Join(folder, name, "flags"), []byte(flags+"\n"), 0o600),
					os.WriteFile(filepath.Join(folder, name, "operstate"), []byte(state+"\n"), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := isConnected(folder); err != nil || got != tt.want {
				t.Errorf("isConnected() = %t, %v, want %t", got, err, tt.want)
			}
		})
	}
	if _, err := isConnected(filepath.Join(t.TempDir(), "none")); !errors.Is(err, ErrUnknown) {
		t.Errorf("error without the folder = %v, want ErrUnknown", err)
	}
}
