package lnd_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain/lightning"
	"chequer/internal/chain/lightning/lightningtest"
)

func TestProvider_conforms(t *testing.T) {
	t.Parallel()
	lightningtest.Run(t, lightningtest.Names{Held: true, Amount: true, Time: true}, func(t *testing.T, start time.Time) lightningtest.Lab {
		f := newFixture(t, start, lightningtest.InvoiceMacaroon)
		return lightningtest.Lab{Provider: f.Provider, Wallet: f.node.Wallet, Clock: f.clock, SetDown: f.server.SetDown}
	})
}

var (
	noon = time.Unix(1_790_000_000, 0).UTC()
	ask  = lightning.Ask{MilliSatoshi: 21_000, Memo: "Shoes", Expiry: 20 * time.Minute}
)

func TestMake_asks_for_private_channels_and_the_expiry(t *testing.T) {
	t.Parallel()
	f := newFixture(t, noon, lightningtest.InvoiceMacaroon)
	made, err := f.Make(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	i := f.node.Wallet.Last()
	if want := (lightning.Made{Text: i.Text, Hash: i.Hash}); made != want {
		t.Errorf("Make() = %+v, want %+v", made, want)
	}
	if diff := cmp.Diff(f.node.Made, map[string]string{"memo": "Shoes", "expiry": "1200", "private": "true"}); diff != "" {
		t.Errorf("call differs (-got +want):\n%s", diff)
	}
}

func TestAccess_reads_the_operations_of_the_macaroon(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		operations []string
		spending   string
		is         error
	}{
		"invoices only":      {[]string{"invoices:read", "invoices:write"}, "", nil},
		"the readonly extra": {[]string{"info:read", "invoices:read", "invoices:write", "offchain:read", "onchain:read", "peers:read"}, "", nil},
		"named calls":        {[]string{"uri:/lnrpc.Lightning/AddInvoice", "uri:/lnrpc.Lightning/LookupInvoice", "uri:/invoicesrpc.Invoices/CancelInvoice"}, "", nil},
		"no cancellations":   {[]string{"uri:/lnrpc.Lightning/AddInvoice", "uri:/lnrpc.Lightning/LookupInvoice"}, "", lightning.ErrUnsupported},
		"payments":           {[]string{"invoices:read", "invoices:write", "offchain:write"}, "offchain:write", nil},
		"coins":              {[]string{"onchain:write", "invoices:read", "invoices:write"}, "onchain:write", nil},
		"macaroons":          {[]string{"invoices:read", "invoices:write", "macaroon:generate"}, "macaroon:generate", nil},
		"a signer":           {[]string{"invoices:read", "invoices:write", "signer:read"}, "signer:read", nil},
		"a paying call":      {[]string{"invoices:read", "invoices:write", "uri:/routerrpc.Router/SendPaymentV2"}, "uri:/routerrpc.Router/SendPaymentV2", nil},
		"an unknown entity":  {[]string{"invoices:read", "invoices:write", "loop:out"}, "loop:out", nil},
		"reading only":       {[]string{"invoices:read"}, "", lightning.ErrUnsupported},
		"making only":        {[]string{"invoices:write"}, "", lightning.ErrUnsupported},
		"another call":       {[]string{"uri:/lnrpc.Lightning/AddInvoice"}, "", lightning.ErrUnsupported},
	} {
		f := newFixture(t, noon, lightningtest.Bake(test.operations...))
		access, err := f.Access(t.Context())
		if access.Spending != test.spending || !errors.Is(err, test.is) || test.is == nil && err != nil {
			t.Errorf("%s: Access() = %+v, %v, want spending %q and error %v", name, access, err, test.spending, test.is)
		}
	}
}

func TestAccess_refuses_macaroons_that_it_cannot_read(t *testing.T) {
	t.Parallel()
	f := newFixture(t, noon, lightningtest.InvoiceMacaroon)
	for _, macaroon := range []string{"00", "02", "0201036c6e64", "0201ff", "020102", "02020103", "0202020304", lightningtest.Bake(), lightningtest.InvoiceMacaroon[:40], strings.Replace(lightningtest.InvoiceMacaroon, "0201036c6e64", "0207036c6e64", 1)} {
		p := open(t, f.server, "type=lnd-rest;server=https://example.com;macaroon="+macaroon, nil)
		if access, err := p.Access(t.Context()); err == nil || !strings.Contains(err.Error(), "the macaroon is not of lnd") {
			t.Errorf("%s: Access() = %+v, %v, want an error about the macaroon", macaroon, access, err)
		}
	}
	if calls := f.server.Calls.Load(); calls != 0 {
		t.Errorf("%d calls with such macaroons, want none", calls)
	}
}

// always answers each call, except that for the state, with a text.
func always(status int, body string) func(w http.ResponseWriter, r *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/v1/state" {
			return false
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
		return true
	}
}

func TestCalls_name_the_fault_of_the_node(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(n *lightningtest.LND)
		is     error
		want   string
	}{
		"locked":      {func(n *lightningtest.LND) { n.State = "LOCKED" }, lightning.ErrLocked, "lnd is locked"},
		"locked, old": {func(n *lightningtest.LND) { n.State, n.Replace = "LOCKED", always(404, "Not Found") }, lightning.ErrLocked, "lnd is locked"},
		"starting": {func(n *lightningtest.LND) {
			n.State, n.Replace = "UNLOCKED", always(500, `{"code":2,"message":"the RPC server is in the process of starting up, but not yet ready to accept calls"}`)
		}, nil, "lnd is starting"},
		"another node": {func(n *lightningtest.LND) { n.Macaroon = "00" }, lightning.ErrRevoked, "the macaroon was revoked or is of another node"},
		"revoked": {func(n *lightningtest.LND) {
			n.Replace = always(500, `{"code":2,"message":"cannot get macaroon: root key with id 0 doesn't exist"}`)
		}, lightning.ErrRevoked, "revoked"},
		"too few operations": {func(n *lightningtest.LND) { n.Replace = always(500, `{"code":2,"message":"permission denied"}`) }, lightning.ErrRevoked, "revoked"},
		"another fault":      {func(n *lightningtest.LND) { n.Replace = always(500, `{"code":2,"message":"disk\nfull"}`) }, nil, "lnd answers: disk full"},
		"a proxy":            {func(n *lightningtest.LND) { n.Replace = always(404, `<html>no backend`) }, nil, "HTTP status 404"},
		"no TLS": {func(n *lightningtest.LND) {
			n.Replace = always(400, "Client sent an HTTP request to an HTTPS server.\n")
		}, nil, "use https"},
		"its macaroon": {func(n *lightningtest.LND) {
			n.Replace = always(500, `{"code":2,"message":"header `+lightningtest.InvoiceMacaroon+` is too long"}`)
		}, nil, "header [hidden] is too long"},
		"a page":     {func(n *lightningtest.LND) { n.Replace = always(200, `<html>`) }, nil, "the answer is not JSON of lnd"},
		"a redirect": {func(n *lightningtest.LND) { n.Replace = always(302, ``) }, nil, "redirect"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, noon, lightningtest.InvoiceMacaroon)
			f.node.Set(func() { test.change(f.node) })
			_, makeErr := f.Make(t.Context(), ask)
			_, lookErr := f.Look(t.Context(), lightning.Sought{Hash: strings.Repeat("ab", 32)})
			_, accessErr := f.Access(t.Context())
			for call, err := range map[string]error{"Make": makeErr, "Look": lookErr, "Access": accessErr} {
				if err == nil || !strings.Contains(err.Error(), test.want) || test.is != nil && !errors.Is(err, test.is) || errors.Is(err, lightning.ErrUnknown) || strings.Contains(err.Error(), lightningtest.InvoiceMacaroon[:60]) {
					t.Errorf("%s() = %v, want %q", call, err, test.want)
				}
			}
		})
	}
}

// A payer can make the answer for a request large, or an error, by failed attempts to pay it. This must neither hide the payment
// nor stop the lookups of other requests.
func TestLook_reads_an_answer_with_many_attempts(t *testing.T) {
	t.Parallel()
	f := newFixture(t, noon, lightningtest.InvoiceMacaroon)
	preimage := strings.Repeat("ab", 32)
	raw, _ := hex.DecodeString(preimage)
	hash := sha256.Sum256(raw)
	answer := func(attempts int) string {
		const part = `{"chan_id":"123456789012345678","htlc_index":"12","amt_msat":"1000","accept_height":900000,"accept_time":"1790000000","resolve_time":"1790000120","expiry_height":900080,"state":"CANCELED","custom_records":{},"mpp_total_amt_msat":"21000","amp":null}`
		return fmt.Sprintf(`{"r_hash":%q,"r_preimage":%q,"state":"SETTLED","amt_paid_msat":"21000","settle_date":"1790000000","htlcs":[%s]}`,
			base64.StdEncoding.EncodeToString(hash[:]), base64.StdEncoding.EncodeToString(raw), strings.TrimSuffix(strings.Repeat(part+",", attempts), ","))
	}
	look := func(body string, status int) (lightning.Status, error) {
		f.node.Set(func() { f.node.Replace = always(status, body) })
		return f.Look(t.Context(), lightning.Sought{Hash: hex.EncodeToString(hash[:])})
	}
	if status, err := look(answer(1000), 200); err != nil || !status.Settled || status.MilliSatoshi != 21_000 {
		t.Errorf("a thousand attempts: Look() = %+v, %v, want the payment", status, err)
	}
	if status, err := look(answer(10_000), 200); !errors.Is(err, lightning.ErrAnswered) || !strings.Contains(err.Error(), "larger than 1024 KiB") {
		t.Errorf("ten thousand attempts: Look() = %+v, %v, want ErrAnswered", status, err)
	}
	if status, err := look(`{"code":2,"message":"internal error"}`, 500); !errors.Is(err, lightning.ErrAnswered) {
		t.Errorf("an error: Look() = %+v, %v, want ErrAnswered", status, err)
	}
}

func TestLook_refuses_a_settled_answer_that_contradicts_itself(t *testing.T) {
	t.Parallel()
	f := newFixture(t, noon, lightningtest.InvoiceMacaroon)
	if _, err := f.Make(t.Context(), ask); err != nil {
		t.Fatal(err)
	}
	i := f.node.Wallet.Last()
	f.node.Wallet.Pay(i.Hash)
	f.node.Wallet.Change(i.Hash, func(i *lightningtest.Invoice) { i.Paid = 0 })
	if status, err := f.Look(t.Context(), lightning.Sought{Hash: i.Hash}); !errors.Is(err, lightning.ErrFault) {
		t.Errorf("without an amount: Look() = %+v, %v, want ErrFault", status, err)
	}
	f.node.Set(func() {
		f.node.Replace = always(200, `{"r_hash":"AAAA","r_preimage":"","state":"SETTLED","amt_paid_msat":"21000","settle_date":"1790000000"}`)
	})
	if status, err := f.Look(t.Context(), lightning.Sought{Hash: i.Hash}); !errors.Is(err, lightning.ErrFault) {
		t.Errorf("another request: Look() = %+v, %v, want ErrFault", status, err)
	}
}

func TestCancel_makes_a_request_unpayable(t *testing.T) {
	t.Parallel()
	f := newFixture(t, noon, lightningtest.InvoiceMacaroon)
	made, err := f.Make(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Cancel(t.Context(), made.Hash); err != nil || f.node.Wallet.Last().State != lightningtest.Cancelled {
		t.Errorf("Cancel() = %v, state %s, want it cancelled", err, f.node.Wallet.Last().State)
	}
	if err := f.Cancel(t.Context(), strings.Repeat("ab", 32)); !errors.Is(err, lightning.ErrUnknown) {
		t.Errorf("Cancel() of an unknown request = %v, want ErrUnknown", err)
	}
}

func TestProvider_trusts_only_the_certificate_of_the_connection(t *testing.T) {
	t.Parallel()
	f := newFixture(t, noon, lightningtest.InvoiceMacaroon)
	base := "type=lnd-rest;server=https://example.com;macaroon=" + lightningtest.InvoiceMacaroon
	trusting := func(c *lightning.ProviderConfig) { c.TLS = f.server.TLS() }
	for name, test := range map[string]struct {
		text   string
		change func(c *lightning.ProviderConfig)
		is     error
		want   string
	}{
		"another certificate":           {base + ";certthumbprint=" + strings.Repeat("ab", 32), trusting, lightning.ErrCertificate, "the certificate is not the stored one"},
		"no certificate, system roots":  {base, nil, nil, "the certificate of the server is not trusted"},
		"no certificate, trusted roots": {base, trusting, nil, ""},
		"another host":                  {"type=lnd-rest;server=https://127.0.0.1;macaroon=" + lightningtest.InvoiceMacaroon, trusting, nil, "no such host"},
		"without https":                 {"type=lnd-rest;server=http://example.com:443;macaroon=" + lightningtest.InvoiceMacaroon, trusting, nil, "no such host"},
	} {
		_, err := open(t, f.server, test.text, test.change).Access(t.Context())
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) || test.is != nil && !errors.Is(err, test.is) {
			t.Errorf("%s: Access() = %v, want %q", name, err, test.want)
		}
	}
}

func TestRun_signals_settled_requests(t *testing.T) {
	t.Parallel()
	f := newFixture(t, noon, lightningtest.InvoiceMacaroon)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- f.Run(ctx) }()
	f.node.Events <- `{"result":{"state":"OPEN"}}`
	<-f.Wake() // the stream is open
	if !f.Subscribed() {
		t.Error("Subscribed() = false, want true")
	}
	f.node.Events <- `{"result":{"state":"ACCEPTED"}}`
	f.node.Events <- `{"result":{"state":"OPEN"}}`
	select {
	case <-f.Wake():
		t.Error("a held payment is signalled")
	default:
	}
	f.Notified()
	f.node.Events <- `{"result":{"state":"SETTLED","r_hash":"qw==","memo":"` + strings.Repeat("x", 200_000) + `"}}`
	<-f.Wake()
	if hashes, all := f.Notified(); all || !slices.Equal(hashes, []string{"ab"}) {
		t.Errorf("notified %v %t, want ab", hashes, all)
	}
	cancel()
	if err := <-done; err != nil || f.Subscribed() {
		t.Errorf("Run() = %v, subscribed %t, want none", err, f.Subscribed())
	}
}
