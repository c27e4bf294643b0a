package wire

import (
	"testing"
	"time"

	"chequer/internal/invoice"
	"chequer/internal/money"
)

// No event and no resource contains the name of an account. See CONTRACT.md of package api.
func TestAcceptance_contains_no_name_of_an_account(t *testing.T) {
	t.Parallel()
	for stored, want := range map[string]string{"": "", "command": "command", "key_A1": "key_A1", "Zoë/1": "account", "Tove": "account"} {
		inv := &invoice.Invoice{AcceptedAt: time.Unix(1, 0), AcceptedBy: stored, Terms: invoice.Terms{Price: money.MustParse("40", money.EUR)}}
		inv.State.Paid, inv.State.Due = money.Zero(money.EUR), money.Zero(money.EUR)
		if got := acceptance(inv).Actor; got != want {
			t.Errorf("a decision by %q is by %q in the API, want %q", stored, got, want)
		}
	}
}
