package doctor

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain/lightning"
	"chequer/internal/chain/lightning/lightningtest"
	"chequer/internal/config"
	"chequer/internal/merchant"
	"chequer/internal/readiness"
	"chequer/internal/storage"
	"chequer/internal/storage/storagetest"
)

// connectedShop is a shop with a connection to a node.
type connectedShop struct {
	examination *shopExamination
	storage     *storage.Storage
	node        *lightningtest.LND
	wallet      merchant.Wallet
}

// connect returns a shop with a connection. The node accepts its macaroon.
func connect(t *testing.T) *connectedShop {
	t.Helper()
	c, err := config.Load([]string{"CHEQUER_CALLBACK_ALLOW=127.0.0.0/8", "CHEQUER_BITCOIN_NETWORK=regtest"})
	if err != nil {
		t.Fatal(err)
	}
	f := &connectedShop{storage: storagetest.SQLite(t), node: lightningtest.NewLND(t, time.Now, lightningtest.InvoiceMacaroon)}
	server := httptest.NewTLSServer(f.node)
	t.Cleanup(server.Close)
	shop := merchant.Merchant{ID: "m", Name: "Shop", CreatedAt: storagetest.Noon}
	if err := f.storage.CreateShop(t.Context(), merchant.NewShop{Merchant: shop}); err != nil {
		t.Fatal(err)
	}
	f.add(t, "wlt_1", f.node.Connection(server))
	f.examination = &shopExamination{examination: &examination{Config: Config{Settings: c, Shops: []merchant.Merchant{shop}, Storage: f.storage, Now: time.Now}}, shop: shop}
	return f
}

// add makes a connection the shop's active one.
func (f *connectedShop) add(t *testing.T, id, text string) {
	t.Helper()
	f.wallet = merchant.Wallet{ID: id, MerchantID: "m", Mode: merchant.Live, Asset: "BTC-LN", Key: "node " + id, Counter: id, Secret: text, CreatedAt: storagetest.Noon}
	if err := f.storage.CreateWallet(t.Context(), f.wallet); err != nil {
		t.Fatal(err)
	}
}

// examine returns the findings about the connections, with the given networks of a running server.
func (f *connectedShop) examine(t *testing.T, running ...readiness.Network) []string {
	t.Helper()
	f.examination.found = nil
	if err := f.examination.examineConnections(t.Context(), []*shopExamination{f.examination}, readiness.Answer{Networks: running}, true); err != nil {
		t.Fatal(err)
	}
	return f.examination.lines()
}

func TestExamineConnections_makes_and_finds_a_request(t *testing.T) {
	t.Parallel()
	f := connect(t)
	watched := readiness.Network{Network: "lightning-wlt_1", Watched: true, Reached: true}
	for _, test := range []struct {
		name    string
		change  func()
		running []readiness.Network
		want    []string
	}{
		{"a node that works", func() {}, []readiness.Network{watched}, []string{"ok lightning (node wlt_1): ready, makes and finds requests, cannot spend"}},
		{"a server that does not watch", func() {}, nil, []string{
			"ok lightning (node wlt_1): ready, makes and finds requests, cannot spend",
			"warn lightning (node wlt_1): is not watched by the running server: start it again with these settings",
		}},
		{"failed lookups", func() {}, []readiness.Network{{Network: "lightning-wlt_1", Fault: "lnd is locked; 3 requests not looked up since 14:02; their invoices stay open"}}, []string{
			"ok lightning (node wlt_1): ready, makes and finds requests, cannot spend",
			"warn lightning (node wlt_1): lnd is locked; 3 requests not looked up since 14:02; their invoices stay open",
		}},
		{"a network that is out of reach", func() {}, []readiness.Network{{Network: "lightning-wlt_1"}}, []string{
			"ok lightning (node wlt_1): ready, makes and finds requests, cannot spend",
			"warn lightning (node wlt_1): no complete lookup within CHEQUER_MAX_SCAN_AGE: new invoices do not offer it",
		}},
		{"a locked node", func() { f.node.State = "LOCKED" }, []readiness.Network{watched}, []string{"fail lightning (node wlt_1): lnd is locked"}},
		{"a revoked macaroon", func() { f.node.State, f.node.Macaroon = "RPC_ACTIVE", "00" }, []readiness.Network{watched}, []string{
			"fail lightning (node wlt_1): the macaroon was revoked or is of another node",
		}},
	} {
		f.node.Set(test.change)
		got := f.examine(t, test.running...)
		if len(got) != len(test.want) {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
			continue
		}
		for i, line := range got { // an error also names the call
			level, text, _ := strings.Cut(test.want[i], ": ")
			if !strings.HasPrefix(line, level+": ") || !strings.HasSuffix(line, text) || strings.Contains(line, lightningtest.InvoiceMacaroon) {
				t.Errorf("%s: got %q, want %q", test.name, line, test.want[i])
			}
		}
	}
}

func TestExamineConnections_names_another_certificate(t *testing.T) {
	t.Parallel()
	f := connect(t)
	text, _, _ := strings.Cut(f.wallet.Secret, ";certthumbprint=")
	f.add(t, "wlt_2", text+";certthumbprint="+strings.Repeat("00", 32))
	got := f.examine(t, readiness.Network{Network: "lightning-wlt_2", Reached: true}, readiness.Network{Network: "lightning-wlt_1", Fault: "2 requests not looked up since 14:02; their invoices stay open"})
	if len(got) != 2 || !strings.HasSuffix(got[1], lightning.ErrCertificate.Error()) ||
		got[0] != "warn lightning (node wlt_1): 2 requests not looked up since 14:02; their invoices stay open" {
		t.Errorf("got %q", got)
	}
}

// The texts of providers that cannot run on this machine. Their packages test when they arise.
func TestReportAccess_shows_the_text_of_the_provider(t *testing.T) {
	t.Parallel()
	e := &shopExamination{examination: &examination{Config: Config{Shops: make([]merchant.Merchant, 2)}}, shop: merchant.Merchant{Name: "Tea"}}
	w := merchant.Wallet{Key: "NWC, relay.example"}
	e.reportAccess(w, lightning.Access{Spending: "pay_invoice"}, nil)
	e.reportAccess(w, lightning.Access{}, fmt.Errorf("look up: %w", lightning.ErrSilent))
	e.reportAccess(w, lightning.Access{}, errors.New("a@b.example offers no payment check (LUD-21): payments would never be seen"))
	want := []string{
		"warn Tea, lightning (NWC, relay.example): may spend from your wallet (pay_invoice): replace it by a receive-only connection",
		"fail Tea, lightning (NWC, relay.example): look up: the relay answers, the wallet does not: is it switched on?",
		"fail Tea, lightning (NWC, relay.example): a@b.example offers no payment check (LUD-21): payments would never be seen",
	}
	if diff := cmp.Diff(e.lines(), want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}
