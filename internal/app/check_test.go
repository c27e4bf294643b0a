package app_test

import (
	"slices"
	"testing"

	"chequer/internal/app"
	"chequer/internal/chain/ethereum"
	"chequer/internal/config"
)

func TestCheck_accepts_a_fixed_rate_of_each_asset(t *testing.T) {
	t.Parallel()
	for code, environ := range map[string][]string{
		"SHIB": {"CHEQUER_EVM_TOKENS=base:SHIB:0x420CA0f9B9b604cE0fd9C18EF134C705e5Fa3430:18:SHIB"},
	} {
		checkRate(t, code, environ...)
	}
	for _, params := range ethereum.Networks {
		for _, a := range slices.Concat(params.Assets, params.More) {
			checkRate(t, a.Rate)
		}
	}
}

// checkRate checks that the settings accept a fixed rate of a coin.
func checkRate(t *testing.T, code string, environ ...string) {
	t.Helper()
	c, err := config.Load(append(environ, "CHEQUER_RATES=fixed:"+code+"-EUR=0.5,EUR-USD=1.08"))
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Check(c); err != nil {
		t.Errorf("%s: %v", code, err)
	}
}
