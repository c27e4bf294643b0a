package app

import (
	"slices"

	"chequer/internal/chain/bitcoin"
	"chequer/internal/chain/ethereum"
	"chequer/internal/config"
	"chequer/internal/merchant"
)

// overrides returns the payment settings that the environment or the settings file sets. They take
// precedence over those of merchants.
func overrides(c config.Config, demo bool) merchant.Overrides {
	set := merchant.Overrides{}
	for name, s := range map[merchant.SettingName]struct{ by, value string }{
		merchant.SettingTolerancePercent: {"CHEQUER_TOLERANCE_PERCENT", c.TolerancePercent},
		merchant.SettingToleranceAmount:  {"CHEQUER_TOLERANCE_AMOUNT", c.ToleranceAmount},
		merchant.SettingLanguages:        {"CHEQUER_LANGUAGES", c.Offered},
		merchant.SettingStorefront:       {"CHEQUER_STOREFRONT", c.Storefront.String()},
	} {
		if c.Source(s.by) != config.SourceDefault {
			set[name] = merchant.Override{Value: s.value, By: s.by}
		}
	}
	if demo {
		set[merchant.SettingStorefront] = merchant.Override{Value: "on", By: "chequer demo"}
	}
	return set
}

// explorable returns the IDs of the networks that can have an explorer: all but the built-in test network, whether or not the
// settings offer them.
func explorable() (ids []string) {
	for _, p := range slices.Concat(bitcoin.Bitcoins, bitcoin.Litecoins) {
		ids = append(ids, string(p.Asset.Network))
	}
	for _, p := range ethereum.Networks {
		ids = append(ids, string(p.ID))
	}
	return ids
}

// newSettings returns the service of the payment settings.
func newSettings(c config.Config, demo bool, prices merchant.Prices, storage merchant.SettingsStorage, merchants *merchant.Service) (*merchant.Settings, error) {
	s := merchant.NewSettings(merchant.SettingsConfig{
		Storage: storage, Merchants: merchants, Overrides: overrides(c, demo),
		CheckLanguages: func(codes []string) error {
			_, err := languagesByCode(c.Language, codes)
			return err
		},
		Prices: prices, Networks: explorable(),
	})
	return s, s.Overrides.Check()
}
