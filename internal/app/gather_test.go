package app_test

import (
	"log/slog"
	"strings"
	"testing"

	"chequer/internal/app"
	"chequer/internal/chain"
	"chequer/internal/config"
)

func TestGather_asks_nobody_who_may_not_know(t *testing.T) {
	t.Parallel()
	c, err := config.Load([]string{"CHEQUER_DATA_DIR=" + t.TempDir(), "CHEQUER_ETHEREUM_RPC=off"})
	if err != nil {
		t.Fatal(err)
	}
	core, err := app.OpenCore(t.Context(), c, app.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer core.Close()
	for network, want := range map[chain.ID][]string{
		"base":     {"CHEQUER_BASE_RPC as trusted:", "CHEQUER_EVM_ADDRESS_QUERIES=on"},
		"ethereum": {"no EVM network that is watched", "base"},
	} {
		_, err := core.Gather(t.Context(), c, "m", network)
		for _, words := range want {
			if err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("%s: error %v does not say %s", network, err, words)
			}
		}
	}
}
