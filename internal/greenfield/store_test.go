package greenfield_test

import (
	"net/http"
	"testing"

	"chequer/internal/merchant"
	"chequer/internal/storage/storagetest"
)

func storageFile(t testing.TB) string { return storagetest.File(t) }

// The default currency of a store is that of the payment settings of the shop.
func TestStore_has_the_currency_of_the_shop(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		if _, err := f.storage.ChangeChoices(t.Context(), f.shop.ID, func(c merchant.Choices) (merchant.Choices, error) {
			return c.With(merchant.Choices{merchant.SettingCurrency: "USD"})
		}); err != nil {
			t.Fatal(err)
		}
		if got := call[struct{ DefaultCurrency string }](f, "GET", f.store(""), ""); got.DefaultCurrency != "USD" {
			t.Errorf("got the currency %q, want USD", got.DefaultCurrency)
		}
	})
}

func TestStores_list_settings_and_payment_methods(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		store := `{"id":"test-m_atelier-nord","name":"Atelier Nord (test)","website":"https://pay.example/shop/s/m_atelier-nord","defaultCurrency":"EUR",` +
			`"invoiceExpiration":900,"monitoringExpiration":2592000,"paymentTolerance":0.00,"speedPolicy":"MediumSpeed","archived":false}`
		for path, want := range map[string]string{
			"/health":   `{"synchronized":true}`,
			"/stores":   "[" + store + "]",
			f.store(""): store,
			"//stores":  "[" + store + "]",
			f.store("/payment-methods/LightningNetwork"): `[{"enabled":true,"cryptoCode":"BTC","paymentMethod":"BTC-LightningNetwork"}]`,
			"/nothing": `{"code":"not-found","message":"There is nothing at this address"}`,
		} {
			if got := f.send("GET", path, f.token, ""); got.body != want {
				t.Errorf("%s: answer %d: %s, want %s", path, got.status, got.body, want)
			}
		}
		type method struct {
			Enabled                                    bool
			PaymentMethodID, PaymentMethod, CryptoCode string
		}
		wants := map[string]method{
			"BTC": {true, "BTC-CHAIN", "BTC", "BTC"}, "LTC": {true, "LTC-CHAIN", "LTC", "LTC"},
			"EURC-BASE": {true, "EURC-BASE", "EURC-BASE", "EURC"}, "USDC": {true, "USDC-ETHEREUM", "USDC", "USDC"},
		}
		for _, m := range call[[]method](f, "GET", f.store("/payment-methods"), "") {
			if want, known := wants[m.PaymentMethod]; known && m != want {
				t.Errorf("got %+v, want %+v", m, want)
			}
			delete(wants, m.PaymentMethod)
		}
		if len(wants) > 0 {
			t.Errorf("missing: %+v", wants)
		}
		if got := call[[]method](f, "GET", f.store("/payment-methods/OnChain"), ""); len(got) == 0 || got[0].CryptoCode != "BTC" || got[0].PaymentMethod != "BTC" || !got[0].Enabled {
			t.Errorf("OnChain: got %+v, want BTC first, enabled", got)
		}
		// A live store without wallets has no payment methods.
		live := f.newToken(f.shop, merchant.Live, "woocommerce")
		if got := f.send("GET", "/stores/"+f.shop.ID+"/payment-methods", live, ""); got.body != "[]" {
			t.Errorf("a store without wallets: got %s", got.body)
		}
	})
}

func TestServerInfo_names_version_and_payment_methods(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storageFile(t))
	type info struct {
		Version                 string
		FullySynched            bool
		SupportedPaymentMethods []string
	}
	got := call[info](f, "GET", "/server/info", "")
	if got.Version != "2.0.0+chequer.1" || !got.FullySynched || len(got.SupportedPaymentMethods) == 0 || got.SupportedPaymentMethods[0] != "BTC-CHAIN" {
		t.Errorf("got %+v, want version 2.0.0+chequer.1, synchronised, with BTC-CHAIN first", got)
	}
}

func TestMethods_that_no_address_has(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storageFile(t))
	got := f.send("PATCH", "/stores", f.token, "")
	if got.status != http.StatusMethodNotAllowed || got.body != `{"code":"method-not-allowed","message":"This address does not accept this method"}` {
		t.Errorf("answer %d: %s", got.status, got.body)
	}
}
