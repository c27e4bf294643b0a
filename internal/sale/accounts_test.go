package sale_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"chequer/internal/exchange/exchangetest"
	"chequer/internal/merchant"
	"chequer/internal/sale"
)

func TestAccounts_refuse_unsafe_keys_and_invalid_settings(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		if _, err := f.accounts.Remove(ctx, "m"); err != nil {
			t.Fatal(err)
		}
		f.clock.Advance(time.Second)
		allPermissions := []string{"query-funds", "query-open-trades", "query-closed-trades", "modify-trades"}
		set := sale.Settings{Coins: []string{"BTC"}, Smallest: "0", Slippage: 100}
		add := func(secret string, set sale.Settings) error {
			f.clock.Advance(time.Second) // nonces of calls are derived from the time
			_, err := f.accounts.Add(ctx, "m", f.client.Name(), exchangetest.Key, secret, set)
			return err
		}
		f.exchange.Permit(append(slices.Clone(allPermissions), "withdraw-funds")...)
		if err := add(exchangetest.Secret, set); err == nil || !strings.Contains(err.Error(), "can withdraw money from the account") {
			t.Errorf("a key that may withdraw: got error %v", err)
		}
		f.exchange.Permit("query-funds")
		if err := add(exchangetest.Secret, set); err == nil || !strings.Contains(err.Error(), "lacks permissions") {
			t.Errorf("a key that may not sell: got error %v", err)
		}
		f.exchange.Permit(allPermissions...)
		for _, call := range []string{"GetApiKeyInfo", "eth_withdrawal"} {
			f.exchange.AddFaults(call, exchangetest.Status(500))
		}
		if err := add(exchangetest.Secret, set); err == nil {
			t.Error("an exchange that does not answer: got no error")
		}
		for want, invalid := range map[string]sale.Settings{
			"EURC is euro already":   {Coins: []string{"EURC"}, Smallest: "0", Slippage: 100},
			`does not sell "DOGE"`:   {Coins: []string{"DOGE"}, Smallest: "0", Slippage: 100},
			"BTC is named twice":     {Coins: []string{"BTC", "BTC"}, Smallest: "0", Slippage: 100},
			"no coin is named":       {Smallest: "0", Slippage: 100},
			"the smallest sale must": {Coins: []string{"BTC"}, Smallest: "-1", Slippage: 100},
			"the slippage must be":   {Coins: []string{"BTC"}, Smallest: "0", Slippage: 2001},
		} {
			if err := add(exchangetest.Secret, invalid); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: got error %v, want one with %q", invalid, err, want)
			}
		}
		if _, err := f.accounts.Account(ctx, "m"); !errors.Is(err, merchant.ErrNotFound) {
			t.Errorf("the account exists: error %v", err)
		}
		if err := add(exchangetest.Secret, set); err != nil {
			t.Fatal(err)
		}
		if err := add(exchangetest.Secret, set); !errors.Is(err, merchant.ErrExists) {
			t.Errorf("a second account: got error %v, want %v", err, merchant.ErrExists)
		}
		a, err := f.accounts.Account(ctx, "m")
		if err != nil || a.Secret != exchangetest.Secret || a.Active {
			t.Errorf("got %+v, error %v", a, err)
		}
		if err := f.accounts.Examine(ctx, a); err != nil {
			t.Errorf("examine: %v", err)
		}
		f.exchange.Permit(append(slices.Clone(allPermissions), "withdraw-funds")...)
		var scope *sale.ScopeError
		if err := f.accounts.Examine(ctx, a); !errors.As(err, &scope) {
			t.Errorf("examine a key with more permissions: got error %v", err)
		}
	})
}
