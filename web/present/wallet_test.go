package present_test

import (
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"

	"chequer/internal/api"
	"chequer/static"
	"chequer/web/present/presenttest"
)

// The data attributes are the input of the script for browser wallets.
func TestWallet_request_is_in_the_data_attributes(t *testing.T) {
	t.Parallel()
	const to, euro = "0x1111111254EEB25477B68fb85Ed929f73A960582", "0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42"
	token := map[string]string{
		"method": "EURC-BASE", "chain": "8453", "network": "Base", "symbol": "EURC", "contract": euro, "address": to, "units": "56500000",
		"sent": "Atelier Nord looks for it by hand.",
	}
	for _, tt := range []struct {
		name   string
		change func(*api.Resource, *api.PaymentMethod)
		want   map[string]string
	}{
		{"a token", func(*api.Resource, *api.PaymentMethod) {}, token},
		{"a watched token", func(_ *api.Resource, m *api.PaymentMethod) { m.Watched = true },
			withValue(token, "sent", "This page changes when the network shows it.")},
		{"a token on the test network", func(_ *api.Resource, m *api.PaymentMethod) { m.Network = "simnet" },
			withValue(token, "sent", "This page does not change: a test invoice is paid by the test tools.")},
		{"the rest of a partly paid invoice", func(r *api.Resource, m *api.PaymentMethod) {
			r.Status, r.DueAmount, m.DueAmount = api.StatusPending, "13.29", "13.289882"
		}, withValue(token, "units", "13289882")},
		{"a coin, to the last wei", func(_ *api.Resource, m *api.PaymentMethod) {
			m.CryptoCurrency, m.Symbol, m.Name, m.Contract, m.Decimals = "ETH", "ETH", "Ether", "", 18
			m.DueAmount = "12.021319950190558639"
		}, withValue(withValue(withValue(withValue(token, "method", "ETH"), "symbol", "ETH"), "contract", ""), "units", "12021319950190558639")},
		{"18 decimals", func(_ *api.Resource, m *api.PaymentMethod) { m.DueAmount, m.Decimals = "20", 18 }, withValue(token, "units", "20000000000000000000")},
		{"nothing due", func(_ *api.Resource, m *api.PaymentMethod) { m.DueAmount = "0" }, nil},
		{"more digits than the token has", func(_ *api.Resource, m *api.PaymentMethod) { m.DueAmount = "56.5000001" }, nil},
		{"no chain", func(_ *api.Resource, m *api.PaymentMethod) { m.ChainID = "" }, nil},
		{"a chain id that is not decimal", func(_ *api.Resource, m *api.PaymentMethod) { m.ChainID = "0x2105" }, nil},
		{"an address of another network", func(_ *api.Resource, m *api.PaymentMethod) { m.Address = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4" }, nil},
		{"an invalid contract", func(_ *api.Resource, m *api.PaymentMethod) { m.Contract = euro + "00" }, nil},
		{"quote expired", func(r *api.Resource, _ *api.PaymentMethod) { r.SecondsLeft = 0 }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := presenttest.Invoice("abc")
			tt.change(&r, &r.PaymentMethods[1])
			doc := show(t, r)
			box := doc.Find(".wallets[hidden]")
			if diff := cmp.Diff(dataAttributes(box), tt.want); diff != "" {
				t.Errorf("data attributes (-got +want):\n%s", diff)
			}
			if got := doc.Find("#wallet-words").Length() == 1; got != (tt.want != nil) {
				t.Errorf("texts for the script are on the page: %t", got)
			}
			if text := strings.TrimSpace(box.Text()); text != "" || doc.Find(".wallets button").Length() > 0 {
				t.Errorf("the page has a wallet without a script: %s", text)
			}
		})
	}
}

func withValue(values map[string]string, name, value string) map[string]string {
	changed := map[string]string{name: value}
	for n, v := range values {
		if n != name {
			changed[n] = v
		}
	}
	return changed
}

// dataAttributes returns the data attributes of an element; nil if there is no element.
func dataAttributes(s *goquery.Selection) map[string]string {
	if s.Length() == 0 {
		return nil
	}
	values := map[string]string{}
	for _, a := range s.Nodes[0].Attr {
		if name, ok := strings.CutPrefix(a.Key, "data-"); ok {
			values[name] = a.Val
		}
	}
	return values
}

// The page asks a shopper who has sent the amount again only when a new amount is due.
func TestWallet_turn_changes_when_a_new_amount_is_due(t *testing.T) {
	t.Parallel()
	turn := func(change func(*api.Resource)) string {
		r := presenttest.Invoice("abc")
		change(&r)
		return show(t, r).Find("#wallet-words").AttrOr("data-turn", "none")
	}
	first := turn(func(*api.Resource) {})
	for _, tt := range []struct {
		name   string
		change func(*api.Resource)
		same   bool
	}{
		{"delayed", func(r *api.Resource) { r.Exceptions = []string{api.ExceptionDelayed} }, true},
		{"another currency arrived", func(r *api.Resource) {
			r.Exceptions, r.Payments = []string{api.ExceptionWrongAsset}, []api.Payment{presenttest.WrongAsset("ETH", "ETH", "Ethereum", "1")}
		}, true},
		{"a confirmation reorganised", func(r *api.Resource) {
			r.Exceptions, r.Payments = []string{api.ExceptionReorged}, []api.Payment{presenttest.Payment("reorged")}
		}, true},
		{"a part arrived", func(r *api.Resource) { r.Status, r.DueAmount = api.StatusPending, "13.29" }, false},
		{"a payment dropped", func(r *api.Resource) { r.Payments = []api.Payment{presenttest.Payment("replaced")} }, false},
	} {
		if got := turn(tt.change); got == "none" || (got == first) != tt.same {
			t.Errorf("%s: turn %q after %q", tt.name, got, first)
		}
	}
}

// A page loads the script for browser wallets only if a browser wallet can pay one of its methods. It loads
// the script in every state, because a paid invoice may become unpaid by a reorganisation.
func TestWallet_script_is_loaded_only_if_a_wallet_can_pay(t *testing.T) {
	t.Parallel()
	for _, status := range []string{api.StatusCreated, api.StatusPaid} {
		for script, methods := range map[string]func([]api.PaymentMethod) []api.PaymentMethod{
			"pay.js":    func(m []api.PaymentMethod) []api.PaymentMethod { return m[:1] },
			"wallet.js": func(m []api.PaymentMethod) []api.PaymentMethod { return m },
		} {
			r := presenttest.Invoice("abc")
			r.Status, r.PaymentMethods = status, methods(r.PaymentMethods)
			doc := show(t, r)
			if got := doc.Find("script").AttrOr("src", ""); got != static.Path(script) {
				t.Errorf("%s page of %d methods loads %s, want %s", status, len(r.PaymentMethods), got, script)
			}
		}
	}
}
