package server_test

import (
	"fmt"
	"strings"
	"testing"

	"chequer/internal/money"
)

// C44: each event has the status, the exceptions and the sums.
func TestEvent_has_the_due_and_overpaid_amounts(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	for i, tt := range []struct{ amount, status, exceptions, paid, due, overpaid string }{
		{"0.00099999", "pending", `["underpaid"]`, "86.41", "0.01", "0"},
		{"0.001", "paid", `[]`, "86.42", "0", "0"},
		{"0.00100001", "paid", `["overpaid"]`, "86.42", "0", "0"}, // by less than a cent
		{"0.00100012", "paid", `["overpaid"]`, "86.42", "0", "0.01"},
		{"0.002", "paid", `["overpaid"]`, "86.42", "0", "86.42"},
	} {
		id := f.create(t, "all", `{"amount":86.42,"fiat_currency":"EUR","payment_methods":["BTC"]}`) // 0.001 BTC
		if _, err := f.simnet.Pay(t.Context(), bitcoin("simnet"), fmt.Sprint("xpub-script-", i), money.MustParse(tt.amount, money.BTC)); err != nil {
			t.Fatal(err)
		}
		f.simulateAction(t, id, `{"action":"confirm"}`)
		events := f.storage.Events()
		body := string(events[len(events)-1].Body)
		want := fmt.Sprintf(`"status":%q,"exceptions":%s,"client_amount":"86.42","client_currency":"EUR","paid_amount":%q,"due_amount":%q,"overpaid_amount":%q,`,
			tt.status, tt.exceptions, tt.paid, tt.due, tt.overpaid)
		if !strings.Contains(body, id) || !strings.Contains(body, want) || !strings.Contains(body, `"amount":"`+tt.amount+`"`) {
			t.Errorf("%s BTC: event %s, want %s in it", tt.amount, body, want)
		}
	}
}

// C07: an amount with 18 decimals is a text with all its digits.
func TestEvent_has_all_digits_of_an_amount(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	id := f.create(t, "all", `{"amount":100,"fiat_currency":"EUR","payment_methods":["ETH"]}`)
	const amount = `"amount":"1.234567890123456789"`
	if _, err := f.simnet.Pay(t.Context(), ether, "eth-script-0", money.MustParse("1.234567890123456789", money.ETH)); err != nil {
		t.Fatal(err)
	}
	events := f.storage.Events()
	if body := string(events[len(events)-1].Body); !strings.Contains(body, amount) {
		t.Errorf("event %s, want %s in it", body, amount)
	}
	if body := read(t, f.send(readByPage(id, nil))); !strings.Contains(body, amount) {
		t.Errorf("resource %s, want %s in it", body, amount)
	}
}
