package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"chequer/internal/config"
)

// The test changes its working directory, because the default data directory is relative.
func TestWithSystemFile_adds_the_installed_file_unless_another_is_named(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chequer.env")
	if err := os.WriteFile(file, []byte("CHEQUER_SHOP_NAME=Installed\nCHEQUER_DATA_DIR=/var/lib/chequer\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		environ []string
		path    string
		local   bool // data/chequer.env exists
		want    string
	}{
		"installed":                       {path: file, want: file},
		"not installed":                   {path: file + ".missing"},
		"another file is named":           {environ: []string{"CHEQUER_CONFIG=shop.env"}, path: file},
		"another file is named in a file": {environ: []string{"CHEQUER_CONFIG_FILE=which"}, path: file},
		"another data directory is named": {environ: []string{"CHEQUER_DATA_DIR=elsewhere"}, path: file},
		"an empty setting":                {environ: []string{"CHEQUER_DATA_DIR="}, path: file, want: file},
		"a file in the data directory":    {path: file, local: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if test.local {
				if err := os.MkdirAll("data", 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile("data/chequer.env", nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got := config.WithSystemFile(test.environ, test.path)
			added := slices.Contains(got, "CHEQUER_CONFIG="+test.want)
			if test.want == "" && len(got) != len(test.environ) || test.want != "" && !added {
				t.Errorf("environment %q, want settings file %q", got, test.want)
			}
		})
	}
}

func TestSettings_show_sources_and_hide_passwords(t *testing.T) {
	t.Parallel()
	c, err := config.Load([]string{"CHEQUER_DATABASE_URL=postgres://shop:hunter2@db.example/shop?sslpassword=hunter2", "CHEQUER_CALLBACK_ALLOW=10.0.0.0/8"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]config.Setting{
		"CHEQUER_DATABASE_URL":   {Value: "postgres://shop:xxxxx@db.example/shop?…", Source: "environment"},
		"CHEQUER_CALLBACK_ALLOW": {Value: "10.0.0.0/8", Source: "environment"},
		"CHEQUER_LISTEN":         {Value: "127.0.0.1:8080", Source: "default"},
		"CHEQUER_BITCOIN_NODE":   {Value: "light", Source: "default"},
	}
	seen := 0
	for _, s := range c.Settings() {
		if s.About == "" {
			t.Errorf("%s has no description", s.Name)
		}
		if w, ok := want[s.Name]; ok {
			seen++
			if s.Value != w.Value || s.Source != w.Source {
				t.Errorf("%s = %q from %q, want %q from %q", s.Name, s.Value, s.Source, w.Value, w.Source)
			}
		}
	}
	if seen != len(want) {
		t.Errorf("%d of %d settings shown", seen, len(want))
	}
}

func TestLoad_settings_files(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text, path  string // of the settings file; text is ignored if there is a path
		want, fault string
	}{
		"quotes":               {text: "CHEQUER_SHOP_NAME='Tea # more'", want: "Tea # more"},
		"a comment of systemd": {text: "; comment\nCHEQUER_SHOP_NAME=Tea", want: "Tea"},
		"text after a quote":   {text: `CHEQUER_SHOP_NAME="a # b" # c`, fault: "chequer.env:1: CHEQUER_SHOP_NAME: there is text after the closing quote"},
		"no closing quote":     {text: `CHEQUER_SHOP_NAME="a`, fault: "the closing quote is missing"},
		"a device":             {path: "/dev/zero", fault: "settings file: /dev/zero is not a regular file"},
		"a device as a value":  {text: "CHEQUER_SHOP_NAME_FILE=/dev/zero", fault: "CHEQUER_SHOP_NAME_FILE: not a regular file"},
		"a directory":          {path: "/", fault: "settings file: / is not a regular file"},
		"too large":            {text: "#" + strings.Repeat("x", 1<<20), fault: "larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := test.path
			if path == "" {
				path = filepath.Join(t.TempDir(), "chequer.env")
				if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			c, err := config.Load([]string{"CHEQUER_CONFIG=" + path})
			if test.fault == "" && (err != nil || c.ShopName != test.want) {
				t.Errorf("name %q, error %v, want %q", c.ShopName, err, test.want)
			}
			if test.fault != "" && (err == nil || !strings.Contains(err.Error(), test.fault)) {
				t.Errorf("error %v, want %q", err, test.fault)
			}
		})
	}
}
