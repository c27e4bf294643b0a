package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"chequer/internal/config"
)

func TestSave_writes_the_file_unless_the_environment_decides(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "shop.env")
	value := filepath.Join(folder, "value")
	for path, text := range map[string]string{file: "CHEQUER_SHOP_NAME=Tea\n", value: "off\n"} {
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	const name = "CHEQUER_EVM_ADDRESS_QUERIES"
	load := func(environ ...string) config.Config {
		c, err := config.Load(append(environ, "CHEQUER_CONFIG="+file))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for want, environ := range map[string]string{
		"the environment sets " + name + ": set " + name + "=on there": name + "=off",
		value + " holds " + name + ": write on into it":                name + "_FILE=" + value,
	} {
		if err := load(environ).Save(name, "on"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q", err, want)
		}
	}
	before := load()
	if err := before.Save(name, "on"); err != nil {
		t.Fatal(err)
	}
	if after := load(); !bool(after.EVM.AddressQueries) || after.ShopName != "Tea" || after.Source(name) != file {
		t.Errorf("got %+v", after.EVM)
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if err := before.Save(name, "on"); err == nil || !strings.Contains(err.Error(), file+" cannot be written") || !strings.Contains(err.Error(), "add the line "+name+"=on to it") {
		t.Errorf("got error %v, want one that names the line", err)
	}
}
