package server_test

import (
	"encoding/json"
	"strings"
	"testing"

	"chequer/internal/api"
	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/money"
	"chequer/internal/wire"
)

// decode decodes JSON into a value and refuses unknown fields.
func decode(t *testing.T, body string, target any) {
	t.Helper()
	strict := json.NewDecoder(strings.NewReader(body))
	strict.DisallowUnknownFields()
	if err := strict.Decode(target); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
}

func TestEvent_golden_is_unchanged(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	id := f.create(t, "all", `{"amount":56.5,"fiat_currency":"EUR","order_id":"1042","disable_convert":true}`)
	f.simulateAction(t, id, `{"action":"exact"}`)
	f.simulateAction(t, id, `{"action":"confirm"}`)
	events := f.storage.Events()
	golden(t, "event_created.json", string(events[0].Body))
	golden(t, "event_paid.json", string(events[len(events)-1].Body))
}

func TestEvent_is_unchanged_by_parsing_and_encoding(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	id := f.create(t, "all", `{"amount":56.5,"fiat_currency":"EUR","order_id":"Zażółć / <7>","description":"a/b ☕","metadata":{"/":"é"},"url_success":"https://shop.example/ok"}`)
	f.simulateAction(t, id, `{"action":"under"}`)
	f.simulateAction(t, id, `{"action":"confirm"}`)
	f.simulateAction(t, id, `{"action":"over","payment_method":"ETH"}`)
	f.simulateAction(t, id, `{"action":"replace"}`)
	for _, e := range f.storage.Events() {
		body := string(e.Body)
		if strings.ContainsAny(body, "/ \n\\") || strings.Contains(body, "{}") || strings.ContainsFunc(body, func(r rune) bool { return r < 0x20 || r > 0x7e }) {
			t.Errorf("event has characters outside the safe set: %s", body)
		}
		var event api.Event
		decode(t, body, &event)
		encoded, err := json.Marshal(event)
		if err != nil || string(encoded) != body {
			t.Errorf("event changes when it is parsed and encoded: %s", body)
		}
		if event.OrderID != "" || event.ID != e.ID || event.Version != e.Version || event.ForeignID != id {
			t.Errorf("event has the wrong identifiers, or an order_id that is not plain: %s", body)
		}
	}
}

func TestEvent_has_only_a_plain_order_id(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	for order, want := range map[string]string{
		"1042": "1042", "a.b_c~d-E": "a.b_c~d-E", "": "", "a b": "", "a/b": "", "ü": "", "1042\n": "", `"`: "", "a\\b": "",
	} {
		inv, err := f.invoices.Invoice(t.Context(), f.create(t, "all", minimalBody))
		if err != nil {
			t.Fatal(err)
		}
		inv.Terms.OrderID = order
		var event api.Event
		decode(t, string(wire.Event(inv, invoice.Event{})), &event)
		if event.OrderID != want {
			t.Errorf("order_id of order %q = %q, want %q", order, event.OrderID, want)
		}
	}
}

func TestEvent_has_the_state_of_each_payment(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	inv, err := f.invoices.Invoice(t.Context(), f.create(t, "all", `{"amount":100,"fiat_currency":"EUR","payment_methods":["BTC"]}`))
	if err != nil {
		t.Fatal(err)
	}
	transfer := func(change func(*invoice.Transfer)) invoice.Transfer {
		x := invoice.Transfer{
			ID: "x:0", Tx: "x", Network: "simnet", Asset: "BTC", Script: "xpub-script-0", Amount: money.MustParse("0.001", money.BTC),
			Presence: invoice.Present, FirstSeen: noon, Sighted: true,
		}
		change(&x)
		return x
	}
	block := &chain.Block{Height: 101, Hash: "b101", Time: noon}
	tests := map[string]struct {
		transfer    invoice.Transfer
		state, fiat string
		address     string
		required    int
	}{
		"seen":            {transfer(func(*invoice.Transfer) {}), "seen", "86.41", "xpub-address-0", 1},
		"confirmed":       {transfer(func(x *invoice.Transfer) { x.Block, x.Confirmations, x.Required, x.ConfirmedAt = block, 2, 2, noon }), "confirmed", "86.41", "xpub-address-0", 2},
		"in a block":      {transfer(func(x *invoice.Transfer) { x.Block, x.Confirmations, x.Required, x.ConfirmedAt = block, 1, 2, noon }), "seen", "86.41", "xpub-address-0", 2},
		"late":            {transfer(func(x *invoice.Transfer) { x.FirstSeen = inv.ExpiresAt().Add(1) }), "late", "0", "xpub-address-0", 1},
		"replaced":        {transfer(func(x *invoice.Transfer) { x.Presence = invoice.Replaced }), "replaced", "0", "xpub-address-0", 1},
		"reorged":         {transfer(func(x *invoice.Transfer) { x.Presence = invoice.Reorged }), "reorged", "0", "xpub-address-0", 1},
		"dust":            {transfer(func(x *invoice.Transfer) { x.Amount = money.MustParse("0.00000545", money.BTC) }), "dust", "0", "xpub-address-0", 1},
		"old":             {transfer(func(x *invoice.Transfer) { x.Old = true }), "old", "0", "xpub-address-0", 1},
		"wrong asset":     {transfer(func(x *invoice.Transfer) { x.Asset, x.Amount = "ETH", money.MustParse("1", money.ETH) }), "wrong_asset", "0", "xpub-address-0", 0},
		"unknown address": {transfer(func(x *invoice.Transfer) { x.Asset, x.Script, x.Amount = "ETH", "?", money.MustParse("1", money.ETH) }), "wrong_asset", "0", "", 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			received := *inv
			received.Transfers = []invoice.Transfer{test.transfer}
			var event api.Event
			decode(t, string(wire.Event(&received, invoice.Event{})), &event)
			p := event.Payments[0]
			if p.State != test.state || p.FiatAmount != test.fiat || p.Address != test.address || p.Required != test.required {
				t.Errorf("payment %+v, want state %s, amount %s, address %q, %d confirmations required", p, test.state, test.fiat, test.address, test.required)
			}
		})
	}
}
