package desk_test

import (
	"context"
	"encoding/csv"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"chequer/internal/chain"
	network "chequer/internal/chain/monero"
	"chequer/internal/chain/simnet"
	"chequer/internal/invoice"
	"chequer/internal/keys"
	"chequer/internal/merchant"
	"chequer/internal/monero"
	"chequer/internal/money"
	"chequer/internal/tokentest"
	"chequer/internal/watcher"
	"chequer/web/desk"
)

// moneroChain is the main network of Monero with the blocks and transfers of a test.
type moneroChain struct {
	*network.Network
	now       func() time.Time
	tip       int64
	transfers []chain.Transfer
}

// Scan implements chain.Scanner. A block has its height as its hash, and the time at which the test began.
func (c *moneroChain) Scan(_ context.Context, from chain.Cursor, watched chain.Watched) (chain.Snapshot, error) {
	s := chain.Snapshot{
		Started: c.now(), From: from, Tip: c.block(c.tip), Next: c.block(0).Cursor(), Blocks: map[int64]string{}, Unconfirmed: chain.Complete, ViewSince: time.UnixMilli(0),
	}
	for h := range c.tip + 1 {
		s.Blocks[h] = c.block(h).Hash
	}
	for _, t := range c.transfers {
		if watched.Destination(t.Script) {
			s.Transfers = append(s.Transfers, t)
		}
	}
	return s, nil
}

// block returns the block at a height.
func (c *moneroChain) block(height int64) chain.Block {
	return chain.Block{Height: height, Hash: fmt.Sprintf("block %d", height), Time: c.now()}
}

// moneroShop is the shop of a fixture with a Monero wallet, and the network that its invoices are paid on.
type moneroShop struct {
	*testInvoices
	chain *moneroChain
}

// sellMonero makes the desk of a fixture show live invoices that are paid in XMR.
func (f *fixture) sellMonero() *moneroShop {
	f.t.Helper()
	c := &moneroChain{Network: network.New(network.Mainnet), now: f.clock.Now, tip: 100}
	s := *f.testInvoices
	s.mode = invoice.Live
	s.quote("XMR-EUR=160,EUR-USD=1.08")
	s.Service = invoice.NewService(invoice.Config{
		Storage: f.storage, Networks: map[invoice.Mode][]chain.Network{invoice.Test: {s.net}, invoice.Live: {c}}, Rates: func() invoice.Rates { return s.rates },
		Now: f.clock.Now, Log: slog.New(slog.DiscardHandler), Encode: func(*invoice.Invoice, invoice.Event) []byte { return []byte("{}") }, NewID: new(tokentest.Counter).ID,
	})
	f.t.Cleanup(s.Close)
	s.watcher = watcher.New(watcher.Config{
		Network: c, Storage: f.storage, Observer: s.Service, Holder: "test", Every: time.Second, Now: f.clock.Now, Log: slog.New(slog.DiscardHandler),
	})
	key, err := keys.ParseMonero(moneroAddress, moneroView, keys.Main)
	f.must(err)
	added, err := f.config.Wallets.Wallets.Add(f.t.Context(), shop, merchant.Addition{Key: key})
	f.must(err)
	s.wallets = []invoice.Wallet{{Asset: added.Wallet.Asset, Key: added.Wallet.Derivation(), Counter: added.Wallet.Counter}}
	f.config.Invoices = s.Service
	f.desk = desk.New(f.config)
	return &moneroShop{&s, c}
}

// pay pays an amount to an invoice in a block with a number of confirmations, and returns the transaction.
func (s *moneroShop) pay(inv *invoice.Invoice, amount string, confirmations int64, isLocked bool) string {
	s.fixture.t.Helper()
	tx := fmt.Sprintf("%064x", 0xabc0+len(s.chain.transfers))
	s.chain.tip += 10
	block := s.chain.block(s.chain.tip - confirmations + 1)
	s.chain.transfers = append(s.chain.transfers, chain.Transfer{
		ID: tx + ":0", Tx: tx, Asset: "XMR", Script: inv.Methods[0].Destination.Script, Amount: money.MustParse(amount, money.XMR),
		Spends: []string{"image of " + tx}, FirstSeen: s.fixture.clock.Now(), Block: &block, Unsure: isLocked,
	})
	s.step()
	return tx
}

// The page of an invoice that was paid in XMR has the transaction and the subaddress. The search, the list, the reports and their file
// have the payment as well.
func TestPayment_in_Monero(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		b := f.owner()
		s := f.sellMonero()
		inv := s.sell(shop, "1048", "80.00")
		at := "/desk/shop/payments/" + inv.ID
		tx := s.pay(inv, "0.5", 3, false)
		address := inv.Methods[0].Destination.Address
		page := b.get(at).want(http.StatusOK, "€80.00 Paid Order 1048", "Received 0.5 XMR €80.00 Counted €80.00 Price €80.00", "Transfer of 0.5 XMR Confirmed", "Transaction",
			"Address, index 1 of the wallet on Monero", "Confirmations 3 of 3", "Methods Monero Created", "Prepare refund")
		page.find("code.addr").Each(func(i int, c *selection) {
			if got := strings.Join(strings.Fields(c.Text()), ""); got != []string{tx, address}[i] {
				t.Errorf("code %d is %q", i, got)
			}
		})
		for _, search := range []string{tx, strings.ToUpper(tx), address, "monero:" + address + "?tx_amount=0.5"} {
			b.get("/desk/shop/payments?q=" + url.QueryEscape(search)).wantRedirect(at)
		}
		if row := textOf(b.get("/desk/shop/payments").find("tbody tr")); !strings.Contains(row, "1048 Print <A4> Monero Paid") {
			t.Errorf("the row of the list is %q", row)
		}
		b.get("/desk/shop/wallets").want(http.StatusOK, "Next index 2", "Received here 0.5 XMR")
		b.get("/desk/shop/reports?period=2026-11&by=method").want(http.StatusOK, "Monero", "€80.00")
		export := b.get("/desk/shop/reports/export?period=2026-11&format=csv")
		rows, err := csv.NewReader(strings.NewReader(export.body)).ReadAll()
		f.must(err)
		if len(rows) != 2 {
			t.Fatalf("the file has %d rows, want a header and 1: %s", len(rows), export.body)
		}
		for i, name := range rows[0] {
			if want, has := map[string]string{"paid_currency": "XMR", "paid_tx": tx, "received": "0.5 XMR", "paid_amount": "80", "exceptions": "", "status": "paid"}[name]; has && rows[1][i] != want {
				t.Errorf("%s is %q, want %q", name, rows[1][i], want)
			}
		}
	})
}

// A payment with a time lock does not count until the merchant accepts it. It arrived in time, and no page names it late.
func TestPayment_in_Monero_with_a_time_lock(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	s := f.sellMonero()
	inv := s.sell(shop, "1048", "80.00")
	at := "/desk/shop/payments/" + inv.ID
	s.pay(inv, "0.5", 10, true)
	s.expire()
	seen := b.get(at).want(http.StatusOK, "€80.00 Time-locked Order 1048", "A payment is time-locked Your wallet cannot spend it before the lock ends", "does not count until you accept the invoice as paid",
		"Received, not counted 0.5 XMR Counted €0.00", "Transfer of 0.5 XMR Time-locked", "Prepare refund")
	list := b.get("/desk/shop/attention").want(http.StatusOK, "1048: Time-locked", "Accept as paid…")
	accepting := b.get(at+"/accept").want(http.StatusOK, "A payment is time-locked: your wallet cannot spend it before the lock ends.")
	for _, p := range []page{seen, list, accepting} {
		if text := p.text(); strings.Contains(text, "Late") || strings.Contains(text, "late") || strings.Contains(text, "after the quote expired") {
			t.Errorf("the page names the payment late: %s", text)
		}
	}
	b.send(at+"/accept", accepting.hidden("#decide")...).wantRedirect(at + "?done=accepted")
	if text := b.get(at).want(http.StatusOK, "€80.00 Paid", "Transfer of 0.5 XMR Confirmed").text(); strings.Contains(text, "ime-locked") {
		t.Errorf("the page of the accepted invoice is %s", text)
	}
}

// unsureNetwork is the test network, if it cannot show that a payment is younger than its invoice.
type unsureNetwork struct{ *simnet.Network }

// Scan implements chain.Scanner.
func (n unsureNetwork) Scan(ctx context.Context, from chain.Cursor, watched chain.Watched) (chain.Snapshot, error) {
	s, err := n.Network.Scan(ctx, from, watched)
	for i := range s.Transfers {
		s.Transfers[i].Unsure = true
	}
	return s, err
}

func TestPayment_that_may_be_older_than_its_invoice(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	s := f.testInvoices
	s.watcher = watcher.New(watcher.Config{
		Network: unsureNetwork{s.net}, Storage: f.storage, Observer: s.Service, Holder: "test", Every: time.Second, Now: f.clock.Now, Log: slog.New(slog.DiscardHandler),
	})
	inv := s.sell(shop, "1048", "80.00")
	f.must(s.net.Confirm(t.Context(), []string{s.pay(inv, "0.001")}))
	s.expire()
	text := b.get("/desk/shop/payments/"+inv.ID).want(http.StatusOK, "€80.00 May be older Order 1048", "A payment may be older than the invoice The network does not show", "Transfer of 0.001 BTC May be older").text()
	if strings.Contains(text, "Late") || strings.Contains(text, "locked") {
		t.Errorf("the page is %s", text)
	}
}

// The network hides a refund in XMR from Chequer, so the pages ask for its transaction, and do not say that it is found.
func TestRefund_in_Monero(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		b := f.owner()
		s := f.sellMonero()
		inv := s.sell(shop, "1048", "80.00")
		paid := s.pay(inv, "0.5", 3, false)
		at := "/desk/shop/payments/" + inv.ID + "/refund"
		ask := b.get(at).want(http.StatusOK, "0.5 XMR, everything that is not refunded yet", "For a Monero payment: an address of the shopper’s wallet or exchange. Chequer cannot see the payment to it")
		form := append(ask.hidden(`form[action$="/refund"]`), "amount", "received:XMR", "address")
		to, _ := otherMonero(t)
		parsed, err := monero.ParseAddress(to)
		f.must(err)
		stagenet := parsed
		stagenet.Network = monero.Stagenet
		for address, want := range map[string]string{
			shopperAddress:                     "This is not a valid address: a Monero address has 95 characters and begins with 4 (8 for a subaddress) on the main network.",
			to[:94]:                            "This is not a valid address: ",
			to[:10] + "x" + to[11:]:            "This is not a valid address: the checksum of the address does not match, so a character is mistyped or missing.",
			stagenet.String():                  "This is for another network: it is an address of Monero's stagenet.",
			inv.Methods[0].Destination.Address: "This is a payment address of an invoice.",
			moneroSeed:                         "This is a private key or a recovery phrase.",
			moneroSpend:                        "This is a private key or a recovery phrase.",
		} {
			refused := b.send(at, append(form, address)...).want(http.StatusUnprocessableEntity)
			if text := refused.find("#address-error").Text(); !strings.Contains(text, want) {
				t.Errorf("%s: the error is %q, want %q", address, text, want)
			}
		}
		b.send(at, append(form, "monero:"+to+"?tx_amount=0.5")...).wantRedirect(at + "?done=refund-ready")
		ready := b.get(at).want(http.StatusOK, "Address on Monero, entered by Maren", "Valid address on Monero", "Transaction ID After your wallet has paid: 64 hexadecimal digits. Chequer does not look at the payment")
		if link := ready.find(`a[href^="monero:"]`).AttrOr("href", ""); link != "monero:"+to+"?tx_amount=0.5&recipient_name=Refund%201048" {
			t.Errorf("the payment link is %q", link)
		}
		r := s.reload(inv).Refunds[0]
		if !r.WatchUntil.IsZero() {
			t.Errorf("the address is watched until %s", r.WatchUntil)
		}
		send, state, tx := at+"/"+r.ID+"/sent", ready.hidden(`form[action$="/sent"]`), strings.Repeat("8f", 32)
		for wrong, want := range map[string]string{"8f3c": "This is no transaction ID of this network.", "0x" + tx: "This is no transaction ID of this network.", paid: "This is the shopper’s payment, not your refund."} {
			b.send(send, append(state, "tx-"+r.ID, wrong)...).want(http.StatusUnprocessableEntity, want)
		}
		b.send(send, append(state, "tx-"+r.ID, strings.ToUpper(tx))...).wantRedirect(at + "?done=refund-sent")
		s.chain.tip += 100
		s.step()
		b.get(at).want(http.StatusOK, "Sent", "By Maren")
		if sent := s.reload(inv).Refunds[0]; sent.Tx != tx || sent.State != invoice.RefundSent {
			t.Errorf("the refund is %+v", sent)
		}
		b.get("/desk/shop/refunds").want(http.StatusOK, "1048", "0.5 XMR", "Sent")
	})
}
