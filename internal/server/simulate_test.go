package server_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/api"
)

// summary is the part of a simulation's answer that the tests compare.
type summary struct {
	Status     string
	Exceptions []string
	Due        string
	Payments   []string // amount, state
}

// summarise returns the summary of a resource.
func summarise(r api.Resource) summary {
	s := summary{Status: r.Status, Exceptions: r.Exceptions, Due: r.DueAmount}
	for _, p := range r.Payments {
		s.Payments = append(s.Payments, p.Amount+" "+p.CryptoCurrency+" "+p.State)
	}
	return s
}

func TestSimulate_returns_the_new_state(t *testing.T) {
	t.Parallel()
	type step struct {
		body    string
		actions []string
		want    summary
	}
	none := []string{}
	tests := map[string][]step{
		"exact, then again": {
			{`{"action":"exact"}`, []string{"pay 0.00115714 BTC to xpub-script-0"}, summary{"pending", none, "0", []string{"0.00115714 BTC seen"}}},
			{`{"action":"confirm"}`, []string{"confirm [tx1]"}, summary{"paid", none, "0", []string{"0.00115714 BTC confirmed"}}},
			{`{"action":"exact","payment_method":"EURC-BASE"}`, []string{"pay 100 EURC-BASE to eth-script-0"}, summary{"paid", none, "0", []string{"0.00115714 BTC confirmed", "100 EURC-BASE seen"}}},
			{`{"action":"confirm"}`, []string{"confirm [tx2]"}, summary{"paid", []string{"overpaid"}, "0", []string{"0.00115714 BTC confirmed", "100 EURC-BASE confirmed"}}},
		},
		"under, then the rest in another coin": {
			{`{"action":"under"}`, []string{"pay 0.00069428 BTC to xpub-script-0"}, summary{"pending", []string{"underpaid"}, "40.01", []string{"0.00069428 BTC seen"}}},
			{`{"action":"exact","payment_method":"ETH"}`, []string{"pay 0.01509391 ETH to eth-script-0"}, summary{"pending", none, "0", []string{"0.00069428 BTC seen", "0.01509391 ETH seen"}}},
			{`{"action":"confirm"}`, []string{"confirm [tx1 tx2]"}, summary{"paid", none, "0", []string{"0.00069428 BTC confirmed", "0.01509391 ETH confirmed"}}},
		},
		"under in a token is rounded to the shown decimals": {
			{`{"action":"under","payment_method":"EURC-BASE"}`, []string{"pay 60 EURC-BASE to eth-script-0"}, summary{"pending", []string{"underpaid"}, "40", []string{"60 EURC-BASE seen"}}},
		},
		"over": {
			{`{"action":"over"}`, []string{"pay 0.00127286 BTC to xpub-script-0"}, summary{"pending", none, "0", []string{"0.00127286 BTC seen"}}},
			{`{"action":"confirm"}`, []string{"confirm [tx1]"}, summary{"paid", []string{"overpaid"}, "0", []string{"0.00127286 BTC confirmed"}}},
		},
		"late": {
			{`{"action":"late"}`, []string{"pay 0.00115714 BTC to xpub-script-0"}, summary{"expired", []string{"late"}, "100", []string{"0.00115714 BTC late"}}},
		},
		"too late by the invoice's clock": {
			{`{"action":"clock","seconds":901}`, nil, summary{"expired", none, "100", nil}},
			{`{"action":"exact"}`, []string{"pay 0.00115714 BTC to xpub-script-0"}, summary{"expired", []string{"late"}, "100", []string{"0.00115714 BTC late"}}},
		},
		"in time by the invoice's clock": {
			{`{"action":"clock","seconds":840}`, nil, summary{"created", none, "100", nil}},
			{`{"action":"exact"}`, []string{"pay 0.00115714 BTC to xpub-script-0"}, summary{"pending", none, "0", []string{"0.00115714 BTC seen"}}},
			{`{"action":"clock","seconds":90061}`, nil, summary{"expired", []string{"late"}, "100", []string{"0.00115714 BTC late"}}},
		},
		"replaced": {
			{`{"action":"exact"}`, []string{"pay 0.00115714 BTC to xpub-script-0"}, summary{"pending", none, "0", []string{"0.00115714 BTC seen"}}},
			{`{"action":"replace"}`, []string{"replace tx1"}, summary{"created", []string{"replaced"}, "100", []string{"0.00115714 BTC replaced"}}},
		},
		"reorganised": {
			{`{"action":"exact"}`, []string{"pay 0.00115714 BTC to xpub-script-0"}, summary{"pending", none, "0", []string{"0.00115714 BTC seen"}}},
			{`{"action":"confirm"}`, []string{"confirm [tx1]"}, summary{"paid", none, "0", []string{"0.00115714 BTC confirmed"}}},
			{`{"action":"reorganise"}`, []string{"reorganise [tx1]"}, summary{"pending", []string{"reorged"}, "0", []string{"0.00115714 BTC seen"}}},
			{`{"action":"confirm"}`, []string{"confirm [tx1]"}, summary{"paid", none, "0", []string{"0.00115714 BTC confirmed"}}},
		},
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, time.Now)
				id := f.create(t, "all", `{"amount":100,"fiat_currency":"EUR"}`)
				for _, step := range steps {
					time.Sleep(time.Second)
					got := summarise(f.simulateAction(t, id, step.body))
					if diff := cmp.Diff(f.simnet.takeActions(), step.actions); diff != "" {
						t.Errorf("actions of %s (-got +want):\n%s", step.body, diff)
					}
					if step.want.Status == "expired" { // an invoice expires only after a scan after the end of the quote
						f.simnet.Confirm(t.Context(), nil)
						f.simnet.takeActions()
						_, err := f.invoices.Expire(t.Context(), 10)
						if err != nil {
							t.Fatal(err)
						}
						got = summarise(f.resource(t, id))
					}
					if diff := cmp.Diff(got, step.want); diff != "" {
						t.Errorf("answer to %s (-got +want):\n%s", step.body, diff)
					}
				}
			})
		})
	}
}

func TestSimulate_confirms_until_the_invoice_is_paid(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	id := f.create(t, "all", `{"amount":600,"fiat_currency":"EUR"}`) // two confirmations
	f.simulateAction(t, id, `{"action":"exact"}`)
	for _, want := range []string{"pending", "paid"} {
		if got := f.simulateAction(t, id, `{"action":"confirm"}`); got.Status != want {
			t.Errorf("status %s, want %s", got.Status, want)
		}
	}
	if diff := cmp.Diff(f.simnet.takeActions()[1:], []string{"confirm [tx1]", "confirm []"}); diff != "" {
		t.Errorf("actions (-got +want):\n%s", diff)
	}
	response := f.send(message{method: "POST", target: "/api/v2/test/invoices/" + id + "/simulate", key: "page", signRequest: true, body: `{"action":"confirm"}`})
	checkRefused(t, response, 409, "nothing_to_do")
}

func TestSimulate_refuses_invalid_actions(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	id := f.create(t, "all", `{"amount":100,"fiat_currency":"EUR","payment_methods":["BTC","ETH"]}`)
	tests := map[string]struct {
		body    string
		status  int
		code    string
		message string
	}{
		"an unknown action":           {`{"action":"steal"}`, 400, "invalid_action", "action must be one of exact, under, over, confirm, late, replace, reorganise, clock"},
		"no action":                   {`{}`, 400, "invalid_action", "action is required"},
		"an unknown method":           {`{"action":"exact","payment_method":"DOGE"}`, 400, "invalid_payment_method", "payment_method must be one of BTC, ETH"},
		"a method not of the invoice": {`{"action":"exact","payment_method":"EURC-BASE"}`, 400, "invalid_payment_method", "payment_method must be one of BTC, ETH"},
		"an unknown field":            {`{"action":"exact","amount":1}`, 400, "unknown_field", `Field "amount" is unknown`},
		"a clock without seconds":     {`{"action":"clock"}`, 400, "invalid_seconds", "seconds is required for the action clock, and not allowed for others"},
		"seconds without a clock":     {`{"action":"exact","seconds":60}`, 400, "invalid_seconds", "seconds is required for the action clock, and not allowed for others"},
		"a clock moved back":          {`{"action":"clock","seconds":-60}`, 400, "invalid_seconds", "seconds must be a whole number from 1 to 2592000"},
		"a clock moved by a fraction": {`{"action":"clock","seconds":1.5}`, 400, "invalid_seconds", ""},
		"nothing to confirm":          {`{"action":"confirm"}`, 409, "nothing_to_do", ""},
		"nothing to replace":          {`{"action":"replace"}`, 409, "nothing_to_do", ""},
		"nothing to reorganise":       {`{"action":"reorganise"}`, 409, "nothing_to_do", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			response := f.send(message{method: "POST", target: "/api/v2/test/invoices/" + id + "/simulate", key: "page", signRequest: true, body: test.body})
			if message := checkRefused(t, response, test.status, test.code); test.message != "" && message != test.message {
				t.Errorf("message %q, want %q", message, test.message)
			}
		})
	}
	if actions := f.simnet.takeActions(); len(actions) != 0 {
		t.Errorf("actions = %v, want none", actions)
	}
	checkRefused(t, f.send(message{method: "POST", target: "/api/v2/test/invoices/nobody/simulate", key: "page", signRequest: true, body: `{"action":"exact"}`}), 404, "invoice_not_found")
	checkRefused(t, f.send(message{method: "POST", target: "/api/v2/test/invoices/" + id + "/simulate", key: "page", signRequest: true, body: `{}`, header: headerWith("Content-Type", "text/plain")}), 415, "unsupported_media_type")
}

func TestSimulate_moves_a_clock_by_at_most_a_year(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	id := f.create(t, "all", minimalBody)
	clock := message{method: "POST", target: "/api/v2/test/invoices/" + id + "/simulate", key: "page", signRequest: true, body: `{"action":"clock","seconds":2592000}`}
	for range 12 {
		if response := f.send(clock); response.StatusCode != 200 {
			t.Fatalf("answer %d, want 200", response.StatusCode)
		}
	}
	checkRefused(t, f.send(clock), 409, "clock_too_far")
}

func TestSimulate_refuses_when_the_transaction_is_gone(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	id := f.create(t, "all", minimalBody)
	f.simulateAction(t, id, `{"action":"exact"}`)
	f.simnet.transfers = nil // removed, and not yet observed by the watcher
	response := f.send(message{method: "POST", target: "/api/v2/test/invoices/" + id + "/simulate", key: "page", signRequest: true, body: `{"action":"replace"}`})
	checkRefused(t, response, 409, "nothing_to_do")
}

func TestSimulate_answers_without_a_watcher(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, time.Now)
		id := f.create(t, "all", minimalBody)
		f.simnet.unwatched = true
		start := time.Now()
		got := f.simulateAction(t, id, `{"action":"exact"}`)
		if waited := time.Since(start); waited != 2*time.Second || got.Status != "created" {
			t.Errorf("status %s after %s, want created after 2s", got.Status, waited)
		}
	})
}

func TestSimulate_waits_for_the_payment_while_the_invoice_changes_otherwise(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, time.Now)
		id := f.create(t, "all", minimalBody)
		f.simnet.paid = func() {
			go func() {
				time.Sleep(100 * time.Millisecond)
				if _, err := f.invoices.MoveClock(t.Context(), id, time.Second); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Second)
				if err := f.simnet.observe(t.Context()); err != nil {
					t.Error(err)
				}
			}()
		}
		got := summarise(f.simulateAction(t, id, `{"action":"exact"}`))
		want := summary{"pending", []string{}, "0", []string{"0.00001158 BTC seen"}}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("answer (-got +want):\n%s", diff)
		}
	})
}

func TestSimulate_a_declined_invoice_can_be_paid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, time.Now)
		id := f.create(t, "all", minimalBody)
		if _, err := f.invoices.Cancel(t.Context(), id, 0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		got := summarise(f.simulateAction(t, id, `{"action":"exact"}`))
		want := summary{"declined", []string{"late"}, "1", []string{"0.00001158 BTC late"}}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("answer (-got +want):\n%s", diff)
		}
	})
}

// resource reads an invoice.
func (f *fixture) resource(t *testing.T, id string) api.Resource {
	t.Helper()
	var r api.Resource
	decode(t, read(t, f.send(readByPage(id, nil))), &r)
	return r
}
