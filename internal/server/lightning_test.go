package server_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/api"
	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/invoicing"
	"chequer/internal/merchant"
	"chequer/internal/money"
)

// lightning is a network of payment requests whose provider makes a request that its tests choose.
type lightning struct {
	*network
	err  error         // of Ask
	ends time.Duration // of a request, after it is made
	made int
}

var _ chain.Requester = (*lightning)(nil)

func (l *lightning) RequestNetwork() string               { return "bcrt" }
func (l *lightning) Cancel(context.Context, string) error { return nil }
func (l *lightning) Ask(context.Context, chain.Ask) (chain.Offer, error) {
	if l.err != nil {
		return chain.Offer{}, l.err
	}
	l.made++
	to := chain.Destination{Address: fmt.Sprintf("lnbcrt-request-%d", l.made), Script: fmt.Sprintf("%064d", l.made)}
	return chain.Offer{Destination: to, Until: l.now().Add(l.ends)}, nil
}

// lightningTip is the tip of the network for ever.
var lightningTip = chain.Block{Height: 1, Hash: "lightning", Time: noon}

// newLightningFixture returns a fixture whose merchant has a Lightning wallet, and the network of the wallet.
func newLightningFixture(t *testing.T, now func() time.Time) (*fixture, *lightning) {
	t.Helper()
	f := newFixture(t, now)
	l := &lightning{network: &network{id: "lightning-wlt_1", assets: []chain.Asset{chain.LightningAsset("lightning-wlt_1")}, now: f.now}, ends: time.Hour}
	f.invoices = invoice.NewService(invoice.Config{
		Storage: f.storage, Networks: map[invoice.Mode][]chain.Network{invoice.Test: {f.simnet, l}},
		Rates: func() invoice.Rates { return f.rates }, Now: f.now, Encode: encodeDocumented(t), Log: slog.New(slog.DiscardHandler),
		NewID: func() string { return strings.Repeat("n", 32) },
	})
	t.Cleanup(f.invoices.Close)
	l.fixture = f
	f.storage.SaveProgress(l.id, invoice.Progress{Tip: lightningTip.Cursor(), Scanned: f.now()})
	f.merchants.wallets = append(f.merchants.wallets, merchant.Wallet{Asset: chain.CodeLightning, Key: "simnet", Counter: "wlt_1"})
	f.creation = invoicing.Config{Invoices: f.invoices, Merchants: f.merchants}
	f.config.Invoices, f.config.Simnet = f.invoices, l
	f.restart()
	return f, l
}

// ReadAddress implements chain.AddressReader.
func (l *lightning) ReadAddress(_, text string) (chain.Destination, error) {
	return chain.ReadTestBitcoin(text)
}

// settle shows the first request as paid with an amount at noon, and returns its payment hash.
func (l *lightning) settle(t *testing.T, amount string) (hash string) {
	t.Helper()
	hash = fmt.Sprintf("%064d", 1)
	snapshot := chain.Snapshot{Started: noon, From: lightningTip.Cursor(), Tip: lightningTip, Transfers: []chain.Transfer{{
		ID: hash, Tx: hash, Asset: "BTC-LN", Script: hash, FirstSeen: noon, Amount: money.MustParse(amount, money.BTC),
		Block: &chain.Block{Height: 1, Hash: hash, Time: noon},
	}}}
	progress := invoice.Progress{Tip: lightningTip.Cursor(), Scanned: noon, Sequence: 1}
	if err := l.fixture.invoices.Observe(t.Context(), invoice.Lease{Network: l.id, Epoch: 1, Sequence: 1}, snapshot, progress, l.fixture.storage.Owner); err != nil {
		t.Fatal(err)
	}
	return hash
}

// methodOf returns a payment method of a resource, or the zero method.
func methodOf(r api.Resource, code string) api.PaymentMethod {
	for _, m := range r.PaymentMethods {
		if m.CryptoCurrency == code {
			return m
		}
	}
	return api.PaymentMethod{}
}

// addresses returns the addresses of an invoice in the specification's view, by code.
func (f *fixture) addresses(t *testing.T, id string) map[string]string {
	t.Helper()
	var inv api.Invoice
	decode(t, read(t, f.send(message{method: "GET", target: "/api/v2/invoice/status?id=" + id})), &inv)
	all := map[string]string{}
	for _, a := range inv.Addresses {
		all[a.CryptoCurrency] = a.Address
	}
	return all
}

func (f *fixture) ask(id, key, body string) *http.Response {
	return f.send(message{method: "POST", target: "/api/v2/invoices/" + id + "/payment-request", key: key, body: body, signRequest: true})
}

func TestLightning_a_payment_request_is_an_address(t *testing.T) {
	t.Parallel()
	f, l := newLightningFixture(t, nil)
	id := f.create(t, "all", minimalBody)
	if got := f.addresses(t, id)["BTC-LN"]; got != "lnbcrt-request-1" {
		t.Errorf("the address is %q", got)
	}
	r := f.resource(t, id)
	m, bitcoin := methodOf(r, "BTC-LN"), methodOf(r, "BTC")
	want := api.PaymentMethod{
		CryptoCurrency: "BTC-LN", Symbol: "BTC", Name: "Lightning", Network: "lightning", NetworkName: "Lightning", Decimals: 8,
		Address: "lnbcrt-request-1", AddressUntil: "2026-11-27T13:00:32.782Z", ExpectedAmount: bitcoin.ExpectedAmount, DueAmount: bitcoin.DueAmount,
		SmallestAmount: "0", RateEUR: bitcoin.RateEUR, RateUSD: bitcoin.RateUSD, RateClient: bitcoin.RateClient,
		PaymentURI: "lightning:lnbcrt-request-1", PaymentCode: "LIGHTNING:LNBCRT-REQUEST-1", Confirmations: 1, Watched: true, Bridged: []string{},
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("method (-want +got):\n%s", diff)
	}
	if want := bitcoin.PaymentURI + "&lightning=lnbcrt-request-1"; bitcoin.UnifiedURI != want || bitcoin.UnifiedCode != bitcoin.PaymentCode+"&lightning=LNBCRT-REQUEST-1" {
		t.Errorf("the unified link is %q, its code %q", bitcoin.UnifiedURI, bitcoin.UnifiedCode)
	}
	if r.Proof == "" || !strings.Contains(r.Proof, "lnbcrt-request-1") {
		t.Errorf("the statement has no request: %s", r.Proof)
	}
	hash := l.settle(t, m.DueAmount)
	r = f.resource(t, id)
	if r.Status != "paid" || r.PaidCurrency != "BTC-LN" || len(r.Payments) != 1 {
		t.Fatalf("after the payment: %s by %s, %d payments", r.Status, r.PaidCurrency, len(r.Payments))
	}
	if p := r.Payments[0]; p.Address != "lnbcrt-request-1" || p.Tx != hash || p.Required != 1 || p.State != "confirmed" || p.NetworkName != "Lightning" {
		t.Errorf("the payment is %+v", p)
	}
	if bitcoin := methodOf(r, "BTC"); bitcoin.UnifiedURI != "" || methodOf(r, "BTC-LN").Address != "" {
		t.Error("a paid invoice still has a payment request")
	}
}

func TestLightning_a_method_without_a_request_is_no_address(t *testing.T) {
	t.Parallel()
	now := noon
	f, l := newLightningFixture(t, func() time.Time { return now })
	l.err = errors.New("the node is away")
	id := f.create(t, "all", minimalBody)
	if got := f.addresses(t, id); got["BTC-LN"] != "" || got["BTC"] == "" {
		t.Errorf("the addresses are %v", got)
	}
	r := f.resource(t, id)
	if m := methodOf(r, "BTC-LN"); m.Address != "" || !m.MayRequest || m.PaymentURI != "" || m.PaymentCode != "" {
		t.Errorf("the method is %+v", m)
	}
	if strings.Contains(r.Proof, "lightning") {
		t.Errorf("the statement has a method without an address: %s", r.Proof)
	}
	checkRefused(t, f.ask(id, "all", "{}"), http.StatusServiceUnavailable, "no_payment_request")
	l.err = &chain.LimitError{Least: money.MustParse("1", money.BTC), Most: money.MustParse("2", money.BTC)}
	checkRefused(t, f.ask(id, "all", "{}"), http.StatusConflict, "payment_request_amount")
	checkRefused(t, f.ask(id, "all", `{"payment_method":"BTC"}`), http.StatusBadRequest, "invalid_payment_method")
	checkRefused(t, f.ask(id, "read", "{}"), http.StatusForbidden, "key_may_not")
	l.err, l.ends = nil, 5*time.Minute
	tag := f.send(message{method: "GET", target: "/api/v2/invoices/" + id, key: "read", signRequest: true}).Header.Get("ETag")
	response := f.ask(id, "page", "{}")
	var asked api.Resource
	decode(t, read(t, response), &asked)
	if m := methodOf(asked, "BTC-LN"); response.StatusCode != http.StatusOK || m.Address != "lnbcrt-request-1" || m.MayRequest {
		t.Errorf("answer %d with the method %+v", response.StatusCode, m)
	}
	conditionalGet := func(tag string) *http.Response {
		return f.send(message{method: "GET", target: "/api/v2/invoices/" + id, key: "read", signRequest: true, header: http.Header{"If-None-Match": {tag}}})
	}
	answer := conditionalGet(tag)
	if answer.StatusCode != http.StatusOK {
		t.Errorf("with the tag before the request: answer %d", answer.StatusCode)
	}
	tag = answer.Header.Get("ETag")
	if got := conditionalGet(tag).StatusCode; got != http.StatusNotModified {
		t.Errorf("with the tag of the request: answer %d", got)
	}
	now = now.Add(5 * time.Minute)
	if got := conditionalGet(tag).StatusCode; got != http.StatusOK {
		t.Errorf("after the end of the request: answer %d", got)
	}
	if got := f.addresses(t, id)["BTC-LN"]; got != "" {
		t.Errorf("after the end of the request the address is %q", got)
	}
	l.ends = time.Second
	for range 7 { // three of the ten calls were made before
		if got := f.ask(id, "all", "{}").StatusCode; got != http.StatusOK {
			t.Fatalf("a call within the limit: answer %d", got)
		}
		now = now.Add(time.Minute)
	}
	checkRefused(t, f.ask(id, "all", "{}"), http.StatusTooManyRequests, "too_many_payment_requests")
	now = now.Add(time.Hour)
	checkRefused(t, f.ask(id, "all", "{}"), http.StatusConflict, "wrong_state")
}

// An invoice that is paid by Lightning only has nothing to sign before its request is made.
func TestLightning_an_invoice_without_any_address_has_no_proof(t *testing.T) {
	t.Parallel()
	f, l := newLightningFixture(t, nil)
	l.err = errors.New("the node is away")
	id := f.create(t, "all", `{"amount":56.50,"fiat_currency":"EUR","payment_methods":["BTC-LN"]}`)
	if r := f.resource(t, id); r.Proof != "" || len(r.PaymentMethods) != 1 || r.Status != "created" {
		t.Errorf("%s, proof %q, methods %+v", r.Status, r.Proof, r.PaymentMethods)
	}
}

func TestLightning_a_late_payment_needs_a_request(t *testing.T) {
	t.Parallel()
	f, l := newLightningFixture(t, nil)
	l.err = errors.New("the node is away")
	id := f.create(t, "all", minimalBody)
	response := f.send(message{method: "POST", target: "/api/v2/test/invoices/" + id + "/simulate", key: "all", body: `{"action":"late","payment_method":"BTC-LN"}`, signRequest: true})
	checkRefused(t, response, http.StatusConflict, "nothing_to_do")
	if r := f.resource(t, id); r.Status != "created" || r.SecondsLeft <= 0 {
		t.Errorf("%s with %d seconds left, want the price still held", r.Status, r.SecondsLeft)
	}
}

func TestLightning_the_list_is_searched_by_a_payment_request(t *testing.T) {
	t.Parallel()
	f, _ := newLightningFixture(t, nil)
	for length, want := range map[int]int{4096: http.StatusOK, 4097: http.StatusBadRequest} {
		target := "/api/v2/invoices?address=" + strings.Repeat("q", length)
		if got := f.send(message{method: "GET", target: target, key: "read", signRequest: true}).StatusCode; got != want {
			t.Errorf("an address of %d characters: answer %d, want %d", length, got, want)
		}
	}
}

func TestLightning_simulation_pays_the_newest_request(t *testing.T) {
	t.Parallel()
	f, l := newLightningFixture(t, nil)
	id := f.create(t, "all", minimalBody)
	l.unwatched = true
	due := methodOf(f.resource(t, id), "BTC-LN").DueAmount
	response := f.send(message{method: "POST", target: "/api/v2/test/invoices/" + id + "/simulate", key: "all", body: `{"action":"exact","payment_method":"BTC-LN"}`, signRequest: true})
	if response.StatusCode != http.StatusOK {
		t.Fatalf("answer %d: %s", response.StatusCode, read(t, response))
	}
	want := []string{"pay " + due + " BTC-LN to " + fmt.Sprintf("%064d", 1)}
	if diff := cmp.Diff(want, l.takeActions()); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
}

func TestLightning_settings_become_terms(t *testing.T) {
	t.Parallel()
	f, l := newLightningFixture(t, nil)
	f.merchants.choices = merchant.Choices{merchant.SettingLightningOnDemand: "on"}
	id := f.create(t, "all", minimalBody)
	if m := methodOf(f.resource(t, id), "BTC-LN"); l.made != 0 || !m.MayRequest {
		t.Errorf("on demand only: %d requests, %+v", l.made, m)
	}
	f.merchants.choices = merchant.Choices{merchant.SettingMethods: "BTC-LN", merchant.SettingLightningMost: "1000"}
	response := f.send(message{method: "POST", target: "/api/v2/invoice/new", key: "all", body: strings.Replace(minimalBody, "{", `{"order_id":"2",`, 1)})
	checkRefused(t, response, http.StatusBadRequest, "invalid_amount")
}

func TestLightning_the_rest_after_a_part_is_requested(t *testing.T) {
	t.Parallel()
	f, l := newLightningFixture(t, nil)
	f.config.Simnet = f.simnet
	f.restart()
	id := f.create(t, "all", strings.Replace(minimalBody, `"amount":1`, `"amount":10`, 1))
	whole := methodOf(f.resource(t, id), "BTC-LN")
	f.simulateAction(t, id, `{"action":"under","payment_method":"BTC"}`)
	var r api.Resource
	deadline := time.Now().Add(time.Minute)
	for r = f.resource(t, id); methodOf(r, "BTC-LN").Address == ""; r = f.resource(t, id) { // the request is made in the background
		if time.Now().After(deadline) {
			t.Fatal("no request for the rest was made")
		}
	}
	m, bitcoin := methodOf(r, "BTC-LN"), methodOf(r, "BTC")
	if m.Address == whole.Address || m.DueAmount == whole.DueAmount || m.DueAmount != bitcoin.DueAmount {
		t.Errorf("the request %s is for %s, that for the whole price is %s", m.Address, m.DueAmount, whole.Address)
	}
	if bitcoin.UnifiedURI != "" {
		t.Errorf("after a part was paid, the unified link is %q", bitcoin.UnifiedURI)
	}
	if l.made != 2 {
		t.Errorf("%d requests were made, want 2", l.made)
	}
}
