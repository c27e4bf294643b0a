package storage_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/storage"
)

// connectionSecret is the secret of every connection of these tests.
const connectionSecret = "type=phoenixd;server=http://127.0.0.1:9740;password=hunter2hunter2"

// newConnection returns a connection of the merchant "shop".
func newConnection(id string, at time.Time) merchant.Wallet {
	return merchant.Wallet{
		ID: id, MerchantID: "shop", Mode: merchant.Live, Asset: chain.CodeLightning, Key: "phoenixd, " + id, Counter: id, Secret: connectionSecret, CreatedAt: at,
	}
}

// connections returns the IDs of the connections whose requests are looked up.
func connections(t *testing.T, s *storage.Storage) []string {
	t.Helper()
	all, err := s.Connections(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, w := range all {
		if w.Secret != connectionSecret || w.MerchantID != "shop" {
			t.Errorf("got the connection %s with the secret %q", w.ID, w.Secret)
		}
		ids = append(ids, w.ID)
	}
	return ids
}

func TestConnections_are_listed_until_their_last_request_ends(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		ctx := t.Context()
		expect := func(when string, want ...string) {
			t.Helper()
			if diff := cmp.Diff(connections(t, s), append([]string{}, want...)); diff != "" {
				t.Errorf("%s (-got +want):\n%s", when, diff)
			}
		}
		expect("at first")
		create(t, s, creation("a", "shop"))
		test := newConnection("wlt_test", noon)
		test.Mode, test.Secret = merchant.Test, ""
		for _, w := range []merchant.Wallet{test, newConnection("wlt_1", noon), newWallet("wlt_btc", "BTC", "k", noon)} {
			if err := s.CreateWallet(ctx, w); err != nil {
				t.Fatal(err)
			}
		}
		expect("an active connection", "wlt_1")
		if err := s.CreateWallet(ctx, newConnection("wlt_2", noon.Add(time.Second))); err != nil {
			t.Fatal(err)
		}
		expect("a connection that replaced another one", "wlt_2")
		execSQL(t, url, `INSERT INTO destinations (network, script, invoice_id, merchant_id, address_index, position, watch_until)
			VALUES ('lightning-wlt_1', 'h', 'a', 'shop', 0, 1, `+strconv.FormatInt(noon.Add(time.Hour).UnixMilli(), 10)+`)`)
		expect("a former connection with a request that was never looked up", "wlt_1", "wlt_2")
		lookedUp := func(at time.Time, sequence int64) {
			t.Helper()
			epoch := acquireLease(t, s, "lightning-wlt_1", "one", noon)
			if err := s.SaveProgress(ctx, invoice.Lease{Network: "lightning-wlt_1", Epoch: epoch, Sequence: sequence}, invoice.Progress{Scanned: at, Sequence: sequence}); err != nil {
				t.Fatal(err)
			}
		}
		lookedUp(noon.Add(2*time.Hour-time.Second), 1)
		expect("a request that was looked up less than an hour after its end", "wlt_1", "wlt_2")
		lookedUp(noon.Add(2*time.Hour), 2)
		expect("a request that was looked up an hour after its end", "wlt_2")
		if got := rows(t, url, "SELECT secret FROM wallets WHERE asset = 'BTC-LN'"); slices.ContainsFunc(got, func(text string) bool { return strings.Contains(text, "hunter2") }) {
			t.Errorf("a secret is stored in the clear: %q", got)
		}
	})
}

func TestConnections_returns_the_others_if_a_row_was_tampered_with(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		create(t, s, creation("a", "shop"))
		if err := s.CreateShop(t.Context(), merchant.NewShop{Merchant: merchant.Merchant{ID: "other", Name: "Other", CreatedAt: noon}}); err != nil {
			t.Fatal(err)
		}
		other := newConnection("wlt_other", noon)
		other.MerchantID = "other"
		for _, w := range []merchant.Wallet{other, newConnection("wlt_1", noon)} {
			if err := s.CreateWallet(t.Context(), w); err != nil {
				t.Fatal(err)
			}
		}
		execSQL(t, url, "UPDATE wallets SET secret = (SELECT secret FROM wallets WHERE id = 'wlt_1') WHERE id = 'wlt_other'")
		all, err := s.Connections(t.Context())
		if !errors.Is(err, merchant.ErrTampered) || !strings.Contains(err.Error(), "wlt_other") || len(all) != 1 || all[0].ID != "wlt_1" {
			t.Errorf("Connections() = %d connections, %v, want wlt_1 and ErrTampered", len(all), err)
		}
	})
}

// The program reads the connections every second.
func TestConnections_are_served_by_indexes(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		addListed(t, s, url)
		explain, all := planOfSQLite, "SCAN w USING INDEX wallets_connections"
		if strings.HasPrefix(url, "postgres") {
			explain, all = planOfPostgres, "Index Scan wallets_connections"
		}
		conn, err := database(t, url).Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		p := explain(t, conn, storage.ConnectionsStatement())
		if !slices.Equal(p.refused, []string{all}) || !slices.Contains(p.indexes, "destinations_lightning") || !slices.Contains(p.indexes, "networks_pkey") {
			t.Errorf("the plan has %q and uses %q", p.refused, p.indexes)
		}
	})
}

// A payment to a request counts as received by the connection that the request belongs to.
func TestReceived_adds_requests_to_their_connection(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		k := newKeyedShop(t, s, "shop")
		for _, id := range []string{"wlt_1", "wlt_2"} {
			if err := s.CreateWallet(t.Context(), newConnection(id, noon)); err != nil {
				t.Fatal(err)
			}
		}
		network := chain.LightningID("wlt_1")
		asset := chain.Asset{Code: chain.CodeLightning, Symbol: "BTC", Name: "Lightning", Network: network, Currency: money.BTC, Wallet: chain.CodeLightning, Scheme: chain.SchemeLightning}
		c := creation("a", "shop")
		c.Build = func(invoice.NextIndex) (*invoice.Invoice, error) {
			inv := newInvoice("a", "shop", 0, 0)
			inv.Mode = invoice.Live
			inv.Methods = append(inv.Methods, invoice.Method{Asset: asset, Watched: true})
			inv.Quotes[0].Requests = []invoice.PaymentRequest{{
				Asset: asset.Code, Destination: chain.Destination{Address: "lnbc1", Script: "hash"}, Amount: money.FromCents(2100, money.BTC), MadeAt: noon, Until: noon,
			}}
			return inv, nil
		}
		create(t, s, c)
		pay := func(inv *invoice.Invoice) {
			inv.Transfers = []invoice.Transfer{{
				ID: "hash", Network: network, Tx: "hash", Asset: chain.CodeLightning, Script: "hash", Amount: money.FromCents(2100, money.BTC), Presence: invoice.Present,
				FirstSeen: noon, Block: &chain.Block{Height: 1, Hash: "hash", Time: noon}, ConfirmedAt: noon, Confirmations: 1, Required: 1,
			}}
		}
		update(t, t.Context(), s, "a", pay)
		check := func(when string) {
			t.Helper()
			received, err := s.Received(t.Context(), k.id)
			if err != nil || !received.Complete || len(received.ByKey) != 1 || len(received.ByKey["wlt_1"]) != 1 || received.ByKey["wlt_1"][0].Amount.String() != "0.000021" {
				t.Errorf("%s: received %+v, %v", when, received, err)
			}
		}
		check("after the payment")
		if err := s.RestartSums(t.Context(), "shop"); err != nil {
			t.Fatal(err)
		}
		fill(t, s)
		check("after a recount")
	})
}
