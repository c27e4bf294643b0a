package merchant_test

import (
	"errors"
	"strings"
	"testing"

	"chequer/internal/merchant"
)

func TestTerminals_are_found_by_their_secret(t *testing.T) {
	t.Parallel()
	m := newMemory()
	terminals := merchant.NewTerminals(merchant.TerminalsConfig{Storage: m, Prices: prices, Now: now, Token: tokens()})
	for _, tt := range []struct{ name, currency, fault string }{
		{"Bar", "EUR", ""},
		{strings.Repeat("ä", 64), "JPY", ""},
		{strings.Repeat("ä", 65), "EUR", "name must have at most 64 characters"},
		{"Bar\n", "EUR", "name must not contain the invisible character U+000A"},
		{"Bar", "CHF", "fiat_currency must be EUR, USD or JPY; the setting CHEQUER_FIAT adds CHF"},
	} {
		created, err := terminals.Create(t.Context(), merchant.Terminal{MerchantID: "shop", Name: tt.name, Currency: tt.currency})
		checkFault(t, err, tt.fault)
		if err != nil {
			continue
		}
		if found, err := terminals.Find(t.Context(), created.Secret); err != nil || found.ID != created.ID || !strings.HasPrefix(found.ID, "pos_") {
			t.Errorf("Find of %+v = %+v, %v", created, found, err)
		}
		if _, plain := m.terminals[created.Secret]; plain {
			t.Error("the secret is stored instead of its hash")
		}
	}
	m.read = 0
	for _, secret := range []string{"", strings.Repeat("a", 31), strings.Repeat("a", 33), strings.Repeat("a", 31) + "/"} {
		if _, err := terminals.Find(t.Context(), secret); !errors.Is(err, merchant.ErrNotFound) || m.read > 0 {
			t.Errorf("Find(%q): %v after %d reads", secret, err, m.read)
		}
	}
}
