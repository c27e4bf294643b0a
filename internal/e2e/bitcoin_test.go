package e2e_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"chequer/internal/api"
	"chequer/internal/chain/bitcoin/bitcointest"
	"chequer/internal/chain/chaintest"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/money"
)

// The account key m/84'/1'/0' of a published mnemonic, as Bitcoin's and Litecoin's wallets write it
// for test networks.
const tpub = "vpub5Y6cjg78GGuNLsaPhmYsiw4gYX3HoQiRBiSwDaBXKUafCt9bNwWQiitDk5VZ5BVxYnQdwoTyXSs2JHRPAgjAvtbBrf8ZhDYe2jWAqvZVnsc"

// coin is a kind of node that makes real blocks, and how the program is connected to it.
type coin struct {
	name     string
	kind     keys.Kind
	part     string // an amount less than 12.50 EUR
	start    func(t *testing.T) *bitcointest.Node
	settings func(n *bitcointest.Node) []string
	wallet   []string
}

var coins = []coin{
	{
		"light_client", keys.BTC, "0.00005", func(t *testing.T) *bitcointest.Node { return bitcointest.Btcd(t) },
		func(n *bitcointest.Node) []string {
			return []string{"CHEQUER_BITCOIN_NETWORK=regtest", "CHEQUER_BITCOIN_PEERS=" + n.P2P}
		},
		[]string{"BTC", tpub},
	},
	{
		"btcd", keys.BTC, "0.00005", func(t *testing.T) *bitcointest.Node { return bitcointest.Btcd(t, bitcointest.TLS()) },
		func(n *bitcointest.Node) []string {
			return []string{"CHEQUER_BITCOIN_NETWORK=regtest", "CHEQUER_BITCOIN_NODE=" + withPassword(n), "CHEQUER_BITCOIN_NODE_CERT=" + n.Cert}
		},
		[]string{"BTC", tpub},
	},
	{
		"litecoind", keys.LTC, "0.05", func(t *testing.T) *bitcointest.Node { return bitcointest.Litecoind(t) },
		func(n *bitcointest.Node) []string {
			return []string{
				"CHEQUER_BITCOIN_NODE=off", "CHEQUER_LITECOIN_NETWORK=regtest",
				"CHEQUER_LITECOIN_NODE=" + n.RPC, "CHEQUER_LITECOIN_NODE_COOKIE=" + n.Cookie,
			}
		},
		[]string{"LTC", tpub},
	},
}

// withPassword returns a node's address with user and password.
func withPassword(n *bitcointest.Node) string {
	scheme, rest, _ := strings.Cut(n.RPC, "://")
	return scheme + "://" + n.User + ":" + n.Password + "@" + rest
}

// startShop starts the whole program on a database of its own with a node to watch, and returns it
// with an API key.
func startShop(t *testing.T, c coin, n *bitcointest.Node) (*process, merchant.Key) {
	t.Helper()
	return startShopIn(t, t.TempDir(), c, n)
}

// startShopIn does the same as startShop with the data in a folder, and with payment settings.
func startShopIn(t *testing.T, folder string, c coin, n *bitcointest.Node, settings ...string) (*process, merchant.Key) {
	t.Helper()
	p := newProcess(t, folder, append(c.settings(n), "CHEQUER_STOREFRONT=on", "CHEQUER_SHOP_NAME=Atelier Nord")...)
	key := p.addWallet(c)
	if len(settings) > 0 {
		p.run(append([]string{"settings", "set"}, settings...)...)
	}
	p.serve()
	p.waitScanned()
	return p, key
}

// newProcess returns the whole program, not started, with its data in a folder.
func newProcess(t *testing.T, folder string, settings ...string) *process {
	t.Helper()
	listen := freeAddress(t)
	return &process{t: t, url: "http://" + listen, environ: append(append(os.Environ(),
		"CHEQUER_LISTEN="+listen, "CHEQUER_DATA_DIR="+folder, "CHEQUER_RATES=fixed:BTC-EUR=86420.00,LTC-EUR=78.35,EUR-USD=1.08"), settings...)}
}

// addWallet adds a wallet for a coin and an API key.
func (p *process) addWallet(c coin) (key merchant.Key) {
	p.t.Helper()
	p.run("init")
	p.run(append([]string{"wallet", "add"}, c.wallet...)...)
	if err := json.Unmarshal(p.run("key", "add", "--json"), &key); err != nil {
		p.t.Fatal(err)
	}
	return key
}

// health is the state of the watched network in /readyz.
type health struct {
	Network string `json:"network"`
	Watched bool   `json:"watched"`
	Reached bool   `json:"reached"`
	Tip     int64  `json:"tip"`
	Fault   string `json:"fault"`
}

// health returns the state of the watched network, or false if the program does not answer or watches none.
func (p *process) health() (health, bool) {
	response, err := http.Get(p.url + "/readyz")
	if err != nil {
		return health{}, false
	}
	defer response.Body.Close()
	var body struct {
		Networks []health
	}
	if err := json.NewDecoder(response.Body).Decode(&body); err != nil {
		p.t.Fatal(err)
	}
	for _, h := range body.Networks {
		if h.Watched {
			return h, true
		}
	}
	return health{}, false
}

// waitScanned waits until the program has scanned the network.
func (p *process) waitScanned() {
	p.t.Helper()
	var last health
	defer func() {
		if p.t.Failed() {
			p.t.Logf("health: %+v", last)
		}
	}()
	until(p.t, waitTimeout, "the network is scanned", func() bool {
		h, watched := p.health()
		last = h
		return watched && h.Reached
	})
}

// pay sends an amount to the address of an invoice's first method.
func (c coin) pay(t *testing.T, n *bitcointest.Node, r api.Resource, amount string) (tx string) {
	t.Helper()
	return n.Send(t, c.output(t, n, r, amount))
}

// output returns an output of an amount to the address of an invoice's first method.
func (c coin) output(t *testing.T, n *bitcointest.Node, r api.Resource, amount string) chaintest.Output {
	t.Helper()
	_, script, err := keys.ParseAddress(r.PaymentMethods[0].Address, c.kind, keys.Regtest)
	if err != nil {
		t.Fatal(err)
	}
	return chaintest.Output{Script: script, Amount: money.MustParse(amount, n.Asset().Currency)}
}

// TestReal_coins_pay_an_invoice does what a shopper does, with real nodes: the storefront, the page, a transaction
// that the open page shows, a block, and the invoice is paid.
func TestReal_coins_pay_an_invoice(t *testing.T) {
	for _, coin := range coins {
		t.Run(coin.name, func(t *testing.T) {
			t.Parallel()
			node := coin.start(t)
			process, key := startShop(t, coin, node)
			shop := newShop(t, process.url, key)
			tab := open(t, phoneScreen)
			id := idOf(tab.createInvoice(process.url, "12,50"))
			tab.markPage()
			r := shop.invoice(id)
			tab.picture(phoneScreen, "real_"+coin.name+"_waiting")

			// After a partial payment the page asks for the rest, to the same address.
			coin.pay(t, node, r, coin.part)
			sent := time.Now()
			tab.waitFor("#st", "Part of it arrived", nil)
			t.Logf("seen on the open page %d ms after it was sent", time.Since(sent).Milliseconds())
			r = shop.invoice(id)
			if code, link := tab.decode(".qr svg"), r.PaymentMethods[0].PaymentURI; lowerAddress(code) != link {
				t.Errorf("the code contains %q, want the rest %q", code, link)
			}
			tab.picture(phoneScreen, "real_"+coin.name+"_partial")
			coin.pay(t, node, r, r.PaymentMethods[0].DueAmount)
			tab.waitFor("#st", "Payment seen", nil)
			if got := tab.text("#live"); !strings.Contains(got, "0 of ") {
				t.Errorf("the page shows no confirmations: %s", got)
			}
			tab.picture(phoneScreen, "real_"+coin.name+"_seen")

			node.Mine(t, node.Waiting(t)...)
			if coin.kind == keys.LTC {
				node.MineBlocks(t, 3)
			}
			mined := time.Now()
			tab.waitFor("#st", "Paid. Thank you.", nil)
			t.Logf("paid on the open page %d ms after the last block", time.Since(mined).Milliseconds())
			tab.picture(phoneScreen, "real_"+coin.name+"_paid")
			tab.checkNotReloaded()
			tab.checkConsole()
			if got := len(shop.invoice(id).Payments); got != 2 {
				t.Errorf("%d payments are recorded, want 2", got)
			}
			output := process.run("doctor")
			if !strings.Contains(string(output), "ok    network ") {
				t.Errorf("doctor prints:\n%s", output)
			}
			t.Logf("doctor:\n%s", output)
		})
	}
}

// TestReal_coins_count_without_a_confirmation pays with a zero-confirmation cap: a payment below the cap makes the invoice paid
// before any block. One above the cap, and one that signals that it is replaceable, wait for blocks. It needs a node of the Core
// family, whose mempool counts as complete soon after the start.
func TestReal_coins_count_without_a_confirmation(t *testing.T) {
	t.Parallel()
	coin := coins[2]
	node := coin.start(t)
	process, key := startShopIn(t, t.TempDir(), coin, node, "zero_confirmation_ltc=20")
	shop := newShop(t, process.url, key)
	create := func(euro json.Number) api.Resource {
		id, err := shop.client.CreateInvoice(t.Context(), api.InvoiceRequest{Amount: euro, FiatCurrency: "EUR"}, "")
		if err != nil {
			t.Fatal(err)
		}
		return shop.invoice(id)
	}
	output := func(r api.Resource) chaintest.Output {
		return coin.output(t, node, r, r.PaymentMethods[0].DueAmount)
	}
	below, above, replaceable := create("12.50"), create("20.01"), create("12.50")
	node.SendFinal(t, output(above))
	node.Send(t, output(replaceable))
	waiting := []api.Resource{above, replaceable}
	for _, r := range waiting {
		shop.waitStatus(r.ForeignID, api.StatusPending, waitTimeout)
	}
	node.SendFinal(t, output(below))
	shop.waitStatus(below.ForeignID, api.StatusPaid, waitTimeout)
	if p := shop.invoice(below.ForeignID).Payments; len(p) != 1 || p[0].Confirmations != 0 || p[0].Required != 0 {
		t.Errorf("the payment below the cap is %+v, want one that requires no confirmation", p)
	}
	for _, r := range waiting { // the snapshot that showed the last payment showed these, too
		if now := shop.invoice(r.ForeignID); now.Status != api.StatusPending || len(now.Payments) != 1 || now.Payments[0].Required == 0 {
			t.Errorf("an invoice over %s is %s with the payments %+v, want one that waits for blocks", now.ClientAmount, now.Status, now.Payments)
		}
	}
	node.Mine(t, node.Waiting(t)...)
	node.MineBlocks(t, 3)
	for _, r := range append(waiting, below) {
		shop.waitStatus(r.ForeignID, api.StatusPaid, waitTimeout)
	}
}

// TestReal_coins_are_found_after_downtime stops the program while payments arrive, and kills it again
// while it catches up.
func TestReal_coins_are_found_after_downtime(t *testing.T) {
	for _, coin := range coins {
		t.Run(coin.name, func(t *testing.T) {
			t.Parallel()
			node := coin.start(t)
			process, key := startShop(t, coin, node)
			shop := newShop(t, process.url, key)
			var ids []string
			for range 3 {
				ids = append(ids, shop.createInvoice())
			}
			invoices := map[string]api.Resource{}
			for _, id := range ids {
				invoices[id] = shop.invoice(id)
			}
			process.kill()
			for _, id := range ids {
				node.Mine(t, coin.pay(t, node, invoices[id], invoices[id].PaymentMethods[0].DueAmount))
				node.MineBlocks(t, 2)
			}
			for range 3 { // in the middle of catching up, or just after it
				process.serve()
				process.kill()
			}
			node.MineBlocks(t, 4)
			process.serve()
			for _, id := range ids {
				shop.waitStatus(id, api.StatusPaid, waitTimeout)
				if got := len(shop.invoice(id).Payments); got != 1 {
					t.Errorf("%d payments are recorded, want 1", got)
				}
			}
		})
	}
}

// TestReal_coins_are_taken_back removes payments: by a double spend that confirms, and by a reorganisation.
func TestReal_coins_are_taken_back(t *testing.T) {
	for _, coin := range coins {
		t.Run(coin.name, func(t *testing.T) {
			t.Parallel()
			node := coin.start(t)
			p, key := startShop(t, coin, node)
			shop := newShop(t, p.url, key)

			replaced := shop.createInvoice()
			r := shop.invoice(replaced)
			tx := coin.pay(t, node, r, r.PaymentMethods[0].DueAmount)
			shop.waitStatus(replaced, api.StatusPending, waitTimeout)
			unrelated := chaintest.Output{Script: node.NewScript(t), Amount: money.MustParse("0.0001", node.Asset().Currency)}
			node.Mine(t, node.Conflict(t, tx, unrelated))
			shop.waitStatus(replaced, api.StatusCreated, waitTimeout)
			if got := shop.invoice(replaced).Exceptions; len(got) != 1 || got[0] != api.ExceptionReplaced {
				t.Errorf("exceptions %v, want %s", got, api.ExceptionReplaced)
			}

			id := shop.createInvoice()
			r = shop.invoice(id)
			tx = coin.pay(t, node, r, r.PaymentMethods[0].DueAmount)
			shop.waitStatus(id, api.StatusPending, waitTimeout)
			node.Mine(t, tx)
			if coin.kind == keys.LTC {
				node.MineBlocks(t, 3)
			}
			shop.waitStatus(id, api.StatusPaid, waitTimeout)
			depth := 1
			if coin.kind == keys.LTC {
				depth = 4
			}
			node.Fork(t, depth)
			shop.waitStatus(id, api.StatusPending, waitTimeout)
			node.Mine(t, tx)
			node.MineBlocks(t, 3)
			shop.waitStatus(id, api.StatusPaid, waitTimeout)
		})
	}
}

// TestReal_coins_older_than_the_invoice creates an invoice whose address has already received money, as
// after a new installation with the same key. Then a reorganisation removes the block that was the
// newest when the invoice was created.
func TestReal_coins_older_than_the_invoice(t *testing.T) {
	t.Parallel()
	coin := coins[1]
	account, err := keys.Parse(tpub, keys.BTC, keys.Regtest, "")
	if err != nil {
		t.Fatal(err)
	}
	_, script, err := account.Address(0)
	if err != nil {
		t.Fatal(err)
	}
	for name, blocksAbove := range map[string]int{"in_the_removed_block": 0, "in_an_earlier_block": 5} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node := coin.start(t)
			tx := node.Send(t, chaintest.Output{Script: script, Amount: money.MustParse("0.0002", money.BTC)})
			node.Mine(t, tx)
			node.MineBlocks(t, blocksAbove)
			process, key := startShop(t, coin, node)
			shop := newShop(t, process.url, key)
			id := shop.createInvoice()
			old := func() bool {
				r := shop.invoice(id)
				return r.Status == api.StatusCreated && len(r.Payments) == 1 && r.Payments[0].State == "old"
			}
			until(t, waitTimeout, "the earlier payment has the state old", old)
			if blocksAbove == 0 {
				node.Fork(t, 1, tx)
			} else {
				node.Fork(t, 1)
			}
			tip := node.Tip(t).Height
			until(t, waitTimeout, "the fork is scanned", func() bool { h, _ := process.health(); return h.Tip == tip })
			node.MineBlocks(t, 2)
			until(t, waitTimeout, "the next blocks are scanned", func() bool { h, _ := process.health(); return h.Tip == tip+2 })
			if !old() {
				t.Errorf("the invoice is %+v, want a payment in the state old", shop.invoice(id))
			}
		})
	}
}
