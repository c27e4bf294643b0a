package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/chain/monero/monerotest"
	"chequer/internal/merchant"
	"chequer/internal/money"
)

// moneroShop is the whole program with a wallet that real daemons and wallets pay.
type moneroShop struct {
	shop
	process *process
	node    *monerotest.Node
	// wallet is the wallet of the merchant, of which the program has the view key only.
	wallet *monerotest.Wallet
}

// startMonero starts a daemon, a wallet of the merchant, and the program, which reads from an address of the daemon.
func startMonero(t *testing.T, address func(*monerotest.Node) string, options ...monerotest.Option) *moneroShop {
	t.Helper()
	s := &moneroShop{node: monerotest.Start(t, options...)}
	s.wallet = s.node.NewWallet(t)
	s.process = newProcess(t, t.TempDir(), "CHEQUER_BITCOIN_NODE=off", "CHEQUER_ETHEREUM_RPC=off", "CHEQUER_BASE_RPC=off", "CHEQUER_STOREFRONT=on", "CHEQUER_SHOP_NAME=Atelier Nord",
		"CHEQUER_RATES=fixed:XMR-EUR=250,EUR-USD=1.08", "CHEQUER_MONERO_NETWORK=regtest", "CHEQUER_MONERO_NODE="+address(s.node))
	s.process.run("init")
	s.process.runWith(s.wallet.ViewKey, "wallet", "add", "XMR", s.wallet.Address, "--view-key")
	var key merchant.Key
	if err := json.Unmarshal(s.process.run("key", "add", "--json"), &key); err != nil {
		t.Fatal(err)
	}
	s.process.serve()
	s.process.waitScanned()
	s.shop = newShop(t, s.process.url, key)
	return s
}

// local returns the address of the RPC of a daemon.
func local(n *monerotest.Node) string { return n.URL }

// create creates an invoice in euro and returns it.
func (s *moneroShop) create(euro json.Number) api.Resource {
	s.t.Helper()
	id, err := s.client.CreateInvoice(s.t.Context(), api.InvoiceRequest{Amount: euro, FiatCurrency: "EUR"}, "")
	if err != nil {
		s.t.Fatal(err)
	}
	return s.invoice(id)
}

// to returns the output that pays an amount to the address of an invoice.
func (s *moneroShop) to(r api.Resource, amount string) monerotest.To {
	s.t.Helper()
	return monerotest.To{Address: r.PaymentMethods[0].Address, Amount: money.MustParse(amount, money.XMR).Minor().Uint64()}
}

// pay pays the amount that an invoice expects, and returns the transaction.
func (s *moneroShop) pay(r api.Resource) monerotest.Tx {
	s.t.Helper()
	return s.node.Miner.Transfer(s.t, 0, s.to(r, r.PaymentMethods[0].DueAmount))
}

// waitPayment waits until an invoice has a single payment in a state.
func (s *moneroShop) waitPayment(r api.Resource, state string) {
	s.t.Helper()
	var last api.Resource
	defer func() {
		if s.t.Failed() {
			s.t.Logf("last: %s %v %+v", last.Status, last.Exceptions, last.Payments)
		}
	}()
	until(s.t, waitTimeout, "the payment is "+state, func() bool {
		last = s.invoice(r.ForeignID)
		return len(last.Payments) == 1 && last.Payments[0].State == state
	})
}

// TestMonero_pays_an_invoice does what a shopper does: the storefront, the page, a transaction of a real wallet that the open page
// shows, a block, and the invoice is paid. The wallet of the merchant finds the same amount.
func TestMonero_pays_an_invoice(t *testing.T) {
	s := startMonero(t, local)
	tab := open(t, phoneScreen)
	id := idOf(tab.createInvoice(s.process.url, "12,50"))
	tab.markPage()
	r := s.invoice(id)
	tab.picture(phoneScreen, "real_monero_waiting")
	if got, want := tab.decode(".qr svg"), r.PaymentMethods[0].PaymentURI; got != want {
		t.Errorf("the code contains %q, want %q", got, want)
	}
	// A real wallet reads the link as the page means it.
	var parsed struct {
		URI struct {
			Address, RecipientName string
			Amount                 uint64
		}
	}
	s.node.Miner.Call(t, "parse_uri", map[string]any{"uri": r.PaymentMethods[0].PaymentURI}, &parsed)
	if want := s.to(r, r.PaymentMethods[0].DueAmount); parsed.URI.Address != want.Address || parsed.URI.Amount != want.Amount {
		t.Errorf("the wallet reads %+v in the link %s, want %+v", parsed.URI, r.PaymentMethods[0].PaymentURI, want)
	}
	if own := s.wallet.Subaddresses(t, 1); own[0] != r.PaymentMethods[0].Address {
		t.Errorf("the invoice has the address %s, want the first subaddress of the wallet, %s", r.PaymentMethods[0].Address, own[0])
	}

	// After a partial payment the page asks for the rest, to the same address.
	s.node.Miner.Transfer(t, 0, s.to(r, "0.01"))
	tab.waitFor("#st", "Part of it arrived", nil)
	tab.picture(phoneScreen, "real_monero_partial")
	rest := s.pay(s.invoice(id))
	tab.waitFor("#st", "Payment seen", nil)
	tab.picture(phoneScreen, "real_monero_seen")
	s.node.Mine(t, 1)
	tab.waitFor("#st", "Paid. Thank you.", nil)
	tab.picture(phoneScreen, "real_monero_paid")
	tab.checkNotReloaded()
	tab.checkConsole()

	paid := s.invoice(id)
	if len(paid.Payments) != 2 || !slices.ContainsFunc(paid.Payments, func(p api.Payment) bool { return strings.HasPrefix(p.ID, rest.Hash) }) {
		t.Errorf("the payments are %+v, want two, one of them %s", paid.Payments, rest.Hash)
	}
	total, _ := s.wallet.Balance(t)
	if want := money.MustParse(r.PaymentMethods[0].ExpectedAmount, money.XMR).Minor().Uint64(); total != want {
		t.Errorf("the wallet of the merchant has %d, want %d", total, want)
	}
	if output := s.process.run("doctor"); !strings.Contains(string(output), "ok    network monero-regtest") {
		t.Errorf("doctor prints:\n%s", output)
	}
}

// TestMonero_payments_are_taken_back removes payments: by a reorganisation, and by a double spend that a block confirms.
func TestMonero_payments_are_taken_back(t *testing.T) {
	s := startMonero(t, local)
	r := s.create("12.50")
	tx := s.pay(r)
	s.shop.waitStatus(r.ForeignID, api.StatusPending, waitTimeout)
	s.node.Mine(t, 2)
	s.shop.waitStatus(r.ForeignID, api.StatusPaid, waitTimeout)
	s.node.PopBlocks(t, 2)
	s.shop.waitStatus(r.ForeignID, api.StatusPending, waitTimeout)
	s.node.Mine(t, 2)
	s.shop.waitStatus(r.ForeignID, api.StatusPaid, waitTimeout)
	if p := s.invoice(r.ForeignID).Payments; len(p) != 1 || !strings.HasPrefix(p[0].ID, tx.Hash) {
		t.Errorf("the payments are %+v, want one of transaction %s", p, tx.Hash)
	}

	replaced := s.create("12.50")
	output := s.node.Miner.Spendable(t)
	first := s.node.Miner.SweepSingle(t, output.KeyImage, replaced.PaymentMethods[0].Address)
	second := s.node.Miner.SweepSingle(t, output.KeyImage, s.node.Miner.Address)
	if refusal := s.node.Submit(t, first.Hex); refusal != "" {
		t.Fatal(refusal)
	}
	s.shop.waitStatus(replaced.ForeignID, api.StatusPending, waitTimeout)
	tab := open(t, phoneScreen)
	tab.visit(s.process.url + "/invoice/" + replaced.ForeignID)
	tab.waitFor("#st", "Payment seen", nil)
	if refusal := s.node.Submit(t, second.Hex); refusal != "double spend" {
		t.Fatalf("the daemon answers %q, want a double spend", refusal)
	}
	tab.waitFor("main", "this payment is contested", nil)
	tab.picture(phoneScreen, "real_monero_contested")
	s.node.FlushPool(t)
	if refusal := s.node.Submit(t, second.Hex); refusal != "" {
		t.Fatal(refusal)
	}
	s.node.Mine(t, 1)
	s.shop.waitStatus(replaced.ForeignID, api.StatusCreated, waitTimeout)
	if got := s.invoice(replaced.ForeignID).Exceptions; !slices.Equal(got, []string{api.ExceptionReplaced}) {
		t.Errorf("exceptions %v, want %s", got, api.ExceptionReplaced)
	}
}

// TestMonero_time_locked_payments_wait_for_a_decision pays with time locks by height and by time, which no confirmation ends.
func TestMonero_time_locked_payments_wait_for_a_decision(t *testing.T) {
	s := startMonero(t, local)
	for name, lock := range map[string]uint64{"height": uint64(s.node.Height(t)) + 500, "time": uint64(time.Now().Add(30 * 24 * time.Hour).Unix())} {
		r := s.create("12.50")
		s.node.Miner.Transfer(t, lock, s.to(r, r.PaymentMethods[0].DueAmount))
		s.node.Mine(t, 12)
		s.waitPayment(r, "late")
		if got := s.invoice(r.ForeignID); got.Status == api.StatusPaid {
			t.Errorf("a payment that is locked by %s makes the invoice %s", name, got.Status)
		}
	}
}

// TestMonero_payments_are_found_after_downtime pays while the program is down, kills it again while it catches up, and restarts the
// daemon. No address is used twice.
func TestMonero_payments_are_found_after_downtime(t *testing.T) {
	s := startMonero(t, local)
	var invoices []api.Resource
	used := map[string]bool{}
	for range 3 {
		r := s.create("12.50")
		if used[r.PaymentMethods[0].Address] {
			t.Errorf("the address %s is used twice", r.PaymentMethods[0].Address)
		}
		used[r.PaymentMethods[0].Address] = true
		invoices = append(invoices, r)
		s.process.kill()
		s.process.serve()
		s.process.waitScanned()
	}
	s.process.kill()
	for _, r := range invoices {
		s.pay(r)
		s.node.Mine(t, 2)
	}
	for range 3 { // in the middle of catching up, or just after it
		s.process.serve()
		s.process.kill()
	}
	s.node.Restart(t)
	s.process.serve()
	for _, r := range invoices {
		s.shop.waitStatus(r.ForeignID, api.StatusPaid, waitTimeout)
		if got := len(s.invoice(r.ForeignID).Payments); got != 1 {
			t.Errorf("%d payments are recorded, want 1", got)
		}
	}
	s.node.Stop(t)
	until(t, waitTimeout, "the fault of the daemon is reported", func() bool { h, _ := s.process.health(); return h.Fault != "" })
	s.node.Launch(t)
	until(t, waitTimeout, "the daemon is reached again", func() bool { h, _ := s.process.health(); return h.Fault == "" && h.Reached })
}

// TestMonero_through_a_restricted_daemon reads through restricted RPC with a login over TLS.
func TestMonero_through_a_restricted_daemon(t *testing.T) {
	s := startMonero(t, func(n *monerotest.Node) string {
		u, err := url.Parse(n.Restricted)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("https://%s:%s@%s#sha256=%x", n.User, n.Password, u.Host, n.Certificate)
	}, monerotest.Login())
	r := s.create("12.50")
	s.pay(r)
	s.shop.waitStatus(r.ForeignID, api.StatusPending, waitTimeout)
	s.node.Mine(t, 1)
	s.shop.waitStatus(r.ForeignID, api.StatusPaid, waitTimeout)
}

// TestMonero_daemon_of_another_network offers no method if the daemon is on another network than the settings.
func TestMonero_daemon_of_another_network(t *testing.T) {
	node := monerotest.Start(t, monerotest.Bare())
	p := newProcess(t, t.TempDir(), "CHEQUER_BITCOIN_NODE=off", "CHEQUER_ETHEREUM_RPC=off", "CHEQUER_BASE_RPC=off",
		"CHEQUER_RATES=fixed:XMR-EUR=250,EUR-USD=1.08", "CHEQUER_MONERO_NODE="+node.URL)
	p.run("init")
	wallet := node.NewWallet(t)
	p.runWith(wallet.ViewKey, "wallet", "add", "XMR", wallet.Address, "--view-key")
	p.serve()
	until(t, waitTimeout, "the fault is reported", func() bool {
		h, _ := p.health()
		return h.Fault != "" && !h.Reached
	})
	doctor := exec.CommandContext(t.Context(), binary(t), "doctor")
	doctor.Env = p.environ
	output, err := doctor.Output()
	if err == nil || !strings.Contains(string(output), "fail  network monero: ") || !strings.Contains(string(output), "the daemon is on fakechain, want mainnet as in CHEQUER_MONERO_NODE") {
		t.Errorf("doctor: %v\n%s", err, output)
	}
}
