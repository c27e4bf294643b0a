package e2e_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/app"
	"chequer/internal/chain/bitcoin/bitcointest"
	"chequer/internal/config"
	"chequer/internal/logtest"
	"chequer/internal/merchant"
	"chequer/internal/storage/storagetest"
)

// masterKey is the master key of programs that share a database.
var masterKey = strings.Repeat("5e", 32)

// member is one of several programs that share a database.
type member struct {
	*program
	shop shop
	log  *logtest.Journal
}

// join starts another program on a database.
func join(t *testing.T, database string) member {
	t.Helper()
	log := &logtest.Journal{}
	p := start(t, settings(t, "CHEQUER_DATABASE_URL="+database, "CHEQUER_MASTER_KEY="+masterKey),
		app.Options{Demo: true, Log: slog.New(slog.NewTextHandler(log, nil))})
	return member{program: p, shop: newShop(t, p.url, p.key), log: log}
}

// isLeader reports whether a program watches the test network.
func (m member) isLeader() bool { return m.log.Contains(`msg="watching network" network=simnet`) }

// TestTwo_programs_share_a_database creates an invoice in one program and pays it through the other,
// before and after the watching program stops.
func TestTwo_programs_share_a_database(t *testing.T) {
	t.Parallel()
	database := storagetest.Postgres(t)
	first, second := join(t, database), join(t, database)
	if first.key.Key != second.key.Key {
		t.Errorf("the demo key is %s and %s", first.key.Key, second.key.Key)
	}
	id := first.shop.createInvoice()
	if got := readPage(t, second.url+"/invoice/"+id, http.StatusOK).Find(".due .v").Text(); got != "€12.50" {
		t.Errorf("the other program shows %q due", got)
	}
	status := second.shop.nextStatus(id)
	first.shop.simulate(id, api.SimulateExact)
	if got := <-status; got != api.StatusPending {
		t.Errorf("the caller that waits at the other program got %q", got)
	}
	for _, m := range []member{first, second} {
		m.shop.waitStatus(id, api.StatusPending, waitTimeout)
	}
	second.shop.simulate(id, api.SimulateConfirm)
	for _, m := range []member{first, second} {
		m.shop.waitStatus(id, api.StatusPaid, waitTimeout)
	}
	if first.isLeader() == second.isLeader() {
		t.Fatalf("the first program watches: %t, the second: %t, want one of them", first.isLeader(), second.isLeader())
	}

	leader, other := first, second
	if second.isLeader() {
		leader, other = second, first
	}
	left := leader.shop.createInvoice()
	leader.stop()
	other.shop.simulate(left, api.SimulateExact)
	other.shop.waitStatus(left, api.StatusPending, takeoverTimeout)
	if !other.isLeader() {
		t.Error("the other program has not logged that it watches the network")
	}
	other.shop.simulate(left, api.SimulateConfirm)
	other.shop.waitStatus(left, api.StatusPaid, waitTimeout)
	if got := readPage(t, other.url+"/invoice/"+left, http.StatusOK).Find("#st").Text(); got != "Paid. Thank you." {
		t.Errorf("the page shows %q", got)
	}
}

// TestTwo_programs_in_one_folder kills the watching program and restarts it immediately. Only one process may
// open the light client's database. A process that does not hold the lease must not keep it open.
func TestTwo_programs_in_one_folder(t *testing.T) {
	t.Parallel()
	coin, folder := coins[0], t.TempDir()
	node := coin.start(t)
	leader, key := startShopIn(t, folder, coin, node)
	other := newProcess(t, folder, coin.settings(node)...)
	other.serve()
	leader.kill()
	leader.serve()
	shop := newShop(t, other.url, key)
	id := shop.createInvoice()
	r := shop.invoice(id)
	node.Mine(t, coin.pay(t, node, r, r.PaymentMethods[0].DueAmount))
	shop.waitStatus(id, api.StatusPaid, waitTimeout)
}

// TestLeader_without_a_node_is_replaced stops the node of the watching program. The other program,
// which has a working node, must take over.
func TestLeader_without_a_node_is_replaced(t *testing.T) {
	t.Parallel()
	coin := coins[1]
	node := coin.start(t)
	otherNode := bitcointest.Btcd(t, bitcointest.TLS(), bitcointest.Peer(node))
	shared := []string{"CHEQUER_DATABASE_URL=" + storagetest.Postgres(t), "CHEQUER_MASTER_KEY=" + masterKey}
	leader := newProcess(t, t.TempDir(), append(coin.settings(node), shared...)...)
	other := newProcess(t, t.TempDir(), append(coin.settings(otherNode), shared...)...)
	key := leader.addWallet(coin)
	leader.serve()
	leader.waitScanned()
	other.serve()
	shop := newShop(t, other.url, key)
	id := shop.createInvoice()
	r := shop.invoice(id)
	node.Kill(t)
	otherNode.Mine(t, coin.pay(t, otherNode, r, r.PaymentMethods[0].DueAmount))
	shop.waitStatus(id, api.StatusPaid, waitTimeout)
}

// commandTimeout is the longest time in which a command must take effect in a running server.
const commandTimeout = 2 * time.Second

// TestKeys_change_on_a_running_server adds and revokes keys by commands while servers run on the same
// database.
func TestKeys_change_on_a_running_server(t *testing.T) {
	t.Parallel()
	for _, engine := range engines {
		t.Run(engine.name, func(t *testing.T) {
			t.Parallel()
			c := settings(t, "CHEQUER_MASTER_KEY="+masterKey)
			if database := engine.database(t); database != "" {
				c.DatabaseURL = database
			}
			servers := []*program{start(t, c, app.Options{Demo: true})}
			if engine.name == "postgresql" {
				servers = append(servers, start(t, onAnotherPort(t, c), app.Options{Demo: true}))
			}
			p := &process{t: t, environ: append(os.Environ(), "CHEQUER_DATABASE_URL="+c.DatabaseURL,
				"CHEQUER_DATA_DIR="+c.DataDir, "CHEQUER_MASTER_KEY="+masterKey)}
			var key merchant.Key
			p.run("init")
			if err := json.Unmarshal(p.run("key", "add", "--test", "--json"), &key); err != nil {
				t.Fatal(err)
			}
			for _, s := range servers {
				until(t, commandTimeout, "a new key is accepted", func() bool { return accepts(t, s.url, key) })
			}
			p.run("key", "revoke", key.Key)
			for _, s := range servers {
				until(t, commandTimeout, "a revoked key is refused", func() bool { return !accepts(t, s.url, key) })
			}
		})
	}
}

// onAnotherPort returns settings with another address to listen on.
func onAnotherPort(t *testing.T, c config.Config) config.Config {
	t.Helper()
	c.Listen = freeAddress(t)
	return c
}

// accepts reports whether a server creates an invoice with a key. It fails on any error but a bad key.
func accepts(t *testing.T, url string, key merchant.Key) bool {
	t.Helper()
	_, err := createSpecInvoice(t.Context(), url, key.Key, key.Secret)
	if err != nil && !strings.Contains(err.Error(), "Bad key header") {
		t.Fatal(err)
	}
	return err == nil
}
