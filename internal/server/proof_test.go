package server_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/api"
	"chequer/internal/proof"
)

// verifiedStatement returns the statement of an invoice's proof, verified with the server's own list of
// keys.
func (f *fixture) verifiedStatement(t *testing.T, r api.Resource) proof.Statement {
	t.Helper()
	answer := f.send(message{method: "GET", target: "/.well-known/chequer-proof-key"})
	list := read(t, answer)
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Fatalf("the key: %d %s", answer.StatusCode, list)
	}
	trusted, err := proof.ParseKeys(list)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := proof.Parse(r.Proof)
	if err != nil {
		t.Fatal(err)
	}
	statement, err := signed.Verify(trusted)
	if err != nil {
		t.Fatal(err)
	}
	return statement
}

func TestProof_states_the_newest_price(t *testing.T) {
	t.Parallel()
	now := noon
	f := newFixture(t, func() time.Time { return now })
	id := f.create(t, "all", `{"amount":56.50,"fiat_currency":"EUR"}`)
	first := f.resource(t, id)
	statement := f.verifiedStatement(t, first)
	if diff := cmp.Diff(expectedStatement(t, first), statement); diff != "" {
		t.Errorf("(-resource +proof):\n%s", diff)
	}
	now = now.Add(time.Minute)
	second := f.resource(t, id)
	if second.Proof != first.Proof {
		t.Error("the proof of an unchanged price differs")
	}
	if answer := f.send(message{method: "POST", target: "/api/v2/invoices/" + id + "/requote", key: "page", signRequest: true, body: `{}`}); answer.StatusCode != http.StatusOK {
		t.Fatalf("requote: %d %s", answer.StatusCode, read(t, answer))
	}
	newest := f.resource(t, id)
	statement = f.verifiedStatement(t, newest)
	if diff := cmp.Diff(expectedStatement(t, newest), statement); diff != "" || statement.Quote != 2 || !statement.Until.Equal(now.Add(15*time.Minute).Truncate(time.Millisecond)) {
		t.Errorf("after a new price: quote %d until %s (-resource +proof):\n%s", statement.Quote, statement.Until, diff)
	}
	if err := statement.CheckExpiry(statement.Until.Add(time.Second)); !errors.Is(err, proof.ErrExpired) {
		t.Errorf("after its end: %v, want ErrExpired", err)
	}
}

// After a partial payment the proof states the amount that is still due. When the invoice is paid it
// states the whole price again, because nothing is due.
func TestProof_states_the_rest_after_a_partial_payment(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	id := f.create(t, "all", `{"amount":56.50,"fiat_currency":"EUR"}`)
	beforePayment := f.verifiedStatement(t, f.resource(t, id))
	part := f.simulateAction(t, id, `{"action":"under"}`)
	statement := f.verifiedStatement(t, f.resource(t, id))
	if diff := cmp.Diff(expectedStatement(t, part), statement); diff != "" || statement.Amount == beforePayment.Amount || statement.Methods[0].Amount == beforePayment.Methods[0].Amount {
		t.Errorf("after a part: %s, %s (-resource +proof):\n%s", statement.Amount, statement.Methods[0], diff)
	}
	f.simulateAction(t, id, `{"action":"exact"}`)
	f.simulateAction(t, id, `{"action":"confirm"}`)
	if diff := cmp.Diff(beforePayment, f.verifiedStatement(t, f.resource(t, id))); diff != "" {
		t.Errorf("after full payment (-first +now):\n%s", diff)
	}
}

// expectedStatement returns the statement that a resource should have.
func expectedStatement(t *testing.T, r api.Resource) proof.Statement {
	t.Helper()
	q := r.Quotes[len(r.Quotes)-1]
	from, err := time.Parse(time.RFC3339, q.From)
	if err != nil {
		t.Fatal(err)
	}
	until, err := time.Parse(time.RFC3339, r.ExpiredAt)
	if err != nil {
		t.Fatal(err)
	}
	s := proof.Statement{
		Server: "https://pay.example/shop", Invoice: r.ForeignID, Mode: r.Mode, Quote: q.Number, From: from, Until: until, Amount: r.DueAmount, Currency: r.ClientCurrency,
	}
	for _, m := range r.PaymentMethods {
		method := proof.Method{Currency: m.CryptoCurrency, Network: m.Network, Address: m.Address, Amount: m.DueAmount, ChainID: m.ChainID, Contract: m.Contract}
		if m.ChainID != "" {
			method.Decimals = m.Decimals
		}
		s.Methods = append(s.Methods, method)
	}
	return s
}

// A declined invoice has no proof, and lists do not contain proofs.
func TestProof_is_empty_for_declined_invoices_and_in_lists(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	id := f.create(t, "all", `{"amount":56.50,"fiat_currency":"EUR"}`)
	var list api.InvoiceList
	decode(t, read(t, f.send(message{method: "GET", target: "/api/v2/invoices", key: "read", signRequest: true})), &list)
	if len(list.Invoices) != 1 {
		t.Fatalf("the list has %d invoices, want 1", len(list.Invoices))
	}
	if got := list.Invoices[0].Proof; got != "" {
		t.Errorf("proof in the list = %q, want none", got)
	}
	if f.resource(t, id).Proof == "" {
		t.Error("an unpaid invoice has no proof")
	}
	if _, err := f.invoices.Cancel(t.Context(), id, 0); err != nil {
		t.Fatal(err)
	}
	if got := f.resource(t, id).Proof; got != "" {
		t.Errorf("proof of a declined invoice = %s, want none", got)
	}
}
