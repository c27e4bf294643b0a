package config_test

import (
	"strings"
	"testing"

	"chequer/internal/config"
)

func TestLoad_errors_contain_no_part_of_a_secret(t *testing.T) {
	t.Parallel()
	for name, addresses := range map[string][]string{
		"CHEQUER_DATABASE_URL": {
			"postgres://shop:hunter#seven@db.example/chequer", "postgres://shop:hunter/seven@db.example/chequer",
			"postgres://shop:hunter?seven@db.example/chequer", "postgres://shop:hunter%seven@db.example/chequer",
			"postgres://shop:12#seven@db.example/chequer", "postgres://shop:12?seven@db.example/chequer",
			"postgres://shop:12/seven@db.example/chequer", "mysql://shop:hunterseven@db.example",
		},
		"CHEQUER_BASE_RPC":        {"https://rpc.example:hunter/seven", "https://rpc.example/%hunterseven", "trusted:rpc.example/hunterseven"},
		"CHEQUER_BITCOIN_NODE":    {"http://user:hunter/seven@127.0.0.1:8332", "http://user:hunter%seven@127.0.0.1:8332", "user:hunterseven@127.0.0.1"},
		"CHEQUER_LITECOIN_NODE":   {"http://user:hunter#seven@127.0.0.1:9332"},
		"CHEQUER_KRAKEN_URL":      {"http://user:hunterseven@127.0.0.1:8400"},
		"CHEQUER_BASE_URL":        {"https://shop:hunterseven@pay.example", "https://pay.example/?hunterseven"},
		"CHEQUER_EMBED_ORIGINS":   {"https://shop:hunterseven@shop.example", "https://shop.example,https://shop:hunterseven@shop.example"},
		"CHEQUER_MASTER_KEY":      {"hunterseven"},
		"CHEQUER_PASSPHRASE_FILE": {"hunterseven"},
		"HTTPS_PROXY":             {"http://user:hunter#seven@127.0.0.1:3128", "http://user:hunter/seven@127.0.0.1:3128", "user:hunter%seven@127.0.0.1:3128", "http://user:12?seven@127.0.0.1:3128"},
		"http_proxy":              {"http://user:hunter%seven@127.0.0.1:3128"},
	} {
		for _, address := range addresses {
			_, err := config.Load([]string{name + "=" + address})
			if err == nil {
				t.Errorf("%s=%s was accepted, want an error", name, address)
				continue
			}
			if !strings.HasPrefix(err.Error(), name+": ") {
				t.Errorf("%s=%s: the error does not name the setting: %v", name, address, err)
			}
			for _, part := range []string{"hunter", "seven", "12"} {
				if strings.Contains(strings.ReplaceAll(err.Error(), "127.0.0.1", ""), part) {
					t.Errorf("%s=%s: the error repeats %q: %v", name, address, part, err)
				}
			}
		}
	}
}

func TestLoad_accepts_escaped_secrets(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{
		"CHEQUER_DATABASE_URL=postgres://shop:hunter%23%2F%3Fseven@db.example:5432/chequer?sslmode=disable",
		"CHEQUER_DATABASE_URL=postgres:///chequer?host=/run/postgresql",
		"CHEQUER_DATABASE_URL=sqlite:data/#1.db",
		"CHEQUER_BITCOIN_NODE=http://user:hunter%23seven@127.0.0.1:8332",
		"HTTPS_PROXY=http://user:hunter%23seven@127.0.0.1:3128",
		"HTTPS_PROXY=127.0.0.1:3128",
		"HTTPS_PROXY=socks5://127.0.0.1:9050",
	} {
		if _, err := config.Load([]string{setting}); err != nil {
			t.Errorf("%s: %v", setting, err)
		}
	}
}
