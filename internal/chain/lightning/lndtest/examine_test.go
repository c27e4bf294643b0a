package lndtest_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"chequer/internal/chain/lightning"
	"chequer/internal/chain/lightning/lndtest"
)

// testExamination compares the sentences for people about connections to real wallets.
func testExamination(t *testing.T, l lab) {
	const ready = "ready, makes and finds requests, cannot spend"
	const limited = ready + "; the provider makes payment requests from 1 to 10000000 satoshis"
	spending := func(what string) string {
		return "may spend from your wallet (" + what + "): replace it by a receive-only connection"
	}
	node := func(macaroon string) func(t *testing.T) rig {
		return func(t *testing.T) rig { return openNode(t, l, macaroon) }
	}
	baked := func(operations ...string) func(t *testing.T) rig {
		return node(l.Shop.Bake(t, "0", operations...))
	}
	wallet := func(s lndtest.Service) func(t *testing.T) rig {
		return func(t *testing.T) rig { return prepareWallet(s)(t, l)(t) }
	}
	for name, test := range map[string]struct {
		open func(t *testing.T) rig
		want string // Describe, or a part of the error
	}{
		"lnd, invoice.macaroon":  {node(l.Shop.Macaroon(t, "invoice")), ready},
		"lnd, admin.macaroon":    {node(l.Shop.Macaroon(t, "admin")), spending("macaroon:generate")},
		"lnd, readonly.macaroon": {node(l.Shop.Macaroon(t, "readonly")), "the macaroon does not allow invoices:write: make one with lncli bakemacaroon invoices:read invoices:write"},
		"lnd, baked":             {baked("invoices:read", "invoices:write"), ready},
		"lnd, payments":          {baked("invoices:read", "invoices:write", "offchain:write"), spending("offchain:write")},
		"lnd, coins":             {baked("invoices:read", "invoices:write", "onchain:write"), spending("onchain:write")},
		"lnd, a paying call":     {baked("invoices:read", "invoices:write", "uri:/routerrpc.Router/SendPaymentV2"), spending("uri:/routerrpc.Router/SendPaymentV2")},
		"lnd, named calls":       {baked("uri:/lnrpc.Lightning/AddInvoice", "uri:/lnrpc.Lightning/LookupInvoice", "uri:/invoicesrpc.Invoices/CancelInvoice"), ready},
		"lnd, no cancellations":  {baked("uri:/lnrpc.Lightning/AddInvoice", "uri:/lnrpc.Lightning/LookupInvoice"), "the macaroon does not allow invoices:write"},
		"lnd, too few calls":     {baked("uri:/lnrpc.Lightning/AddInvoice"), "the macaroon does not allow invoices:read"},
		"nwc":                    {wallet(lndtest.Service{}), ready},
		"nwc, NIP-04":            {wallet(lndtest.Service{LegacyEncryption: true}), ready},
		"nwc, after 3 s":         {wallet(lndtest.Service{Delay: 3 * time.Second}), ready},
		"nwc, payments":          {wallet(lndtest.Service{Methods: []string{"get_info", "make_invoice", "lookup_invoice", "pay_invoice"}}), spending("pay_invoice")},
		"nwc, no lookups":        {wallet(lndtest.Service{Methods: []string{"get_info", "make_invoice"}}), "the connection does not allow lookup_invoice"},
		"address":                {func(t *testing.T) rig { return openAddress(t, l) }, limited},
	} {
		t.Run(name, func(t *testing.T) {
			access, err := lightning.Examine(t.Context(), test.open(t).Provider, "bcrt", time.Now)
			if got := access.Describe(); err == nil && got != test.want || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("Examine() = %q, %v, want %q", got, err, test.want)
			}
		})
	}
	t.Run("requests of lnd are cancelled", func(t *testing.T) {
		before := l.testRequests(t)
		if _, err := lightning.Examine(t.Context(), openNode(t, l, l.Shop.Macaroon(t, "invoice")).Provider, "bcrt", time.Now); err != nil {
			t.Fatal(err)
		}
		after := l.testRequests(t)
		if len(after) != len(before)+1 || after[len(after)-1] != "CANCELED" {
			t.Errorf("states of the requests of examinations: %q, before: %q, want one more that is cancelled", after, before)
		}
	})
}

// testRequests returns the states of the requests that examinations have made.
func (l lab) testRequests(t *testing.T) (states []string) {
	t.Helper()
	var answer struct {
		Invoices []struct{ Memo, State string }
	}
	l.Shop.Call(t, http.MethodGet, "/v1/invoices?num_max_invoices=10000", nil, &answer)
	for _, i := range answer.Invoices {
		if i.Memo == "Connection test" {
			states = append(states, i.State)
		}
	}
	return states
}
