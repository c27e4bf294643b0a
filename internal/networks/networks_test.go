package networks_test

import (
	"testing"

	"chequer/internal/config"
	"chequer/internal/keys"
	"chequer/internal/networks"
)

func TestKeyNetwork_follows_the_settings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		settings []string
		kind     keys.Kind
		want     keys.Network
	}{
		{nil, keys.BTC, keys.Main},
		{nil, keys.LTC, keys.Main},
		{nil, keys.ETH, keys.Main},
		{[]string{"CHEQUER_BITCOIN_NETWORK=signet"}, keys.BTC, keys.Test},
		{[]string{"CHEQUER_BITCOIN_NETWORK=signet"}, keys.LTC, keys.Main},
		{[]string{"CHEQUER_LITECOIN_NETWORK=regtest"}, keys.LTC, keys.Regtest},
	} {
		c, err := config.Load(tt.settings)
		if err != nil {
			t.Fatal(err)
		}
		if got := networks.KeyNetwork(c, tt.kind); got != tt.want {
			t.Errorf("%v: network of %s keys = %s, want %s", tt.settings, tt.kind, got, tt.want)
		}
	}
}
