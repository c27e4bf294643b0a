package desk_test

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"chequer/internal/account"
	"chequer/internal/chain"
	"chequer/internal/chain/simnet"
	"chequer/internal/invoice"
	"chequer/internal/keys"
	"chequer/internal/money"
	"chequer/internal/rates"
	"chequer/internal/storage/storagetest"
	"chequer/internal/tokentest"
	"chequer/internal/watcher"
)

// testInvoices creates test invoices on simnet and pays them.
type testInvoices struct {
	*invoice.Service
	fixture *fixture
	net     *simnet.Network
	watcher *watcher.Watcher
	wallets []invoice.Wallet
	rates   invoice.Rates
	mode    invoice.Mode // of new invoices
}

// quote sets the rates.
func (s *testInvoices) quote(text string) {
	s.fixture.t.Helper()
	fixed, err := rates.ParseFixed(text, "fixed")
	s.fixture.must(err)
	s.rates = fixed
}

// timed is the test network with a block every ten minutes.
type timed struct{ *simnet.Network }

// BlockTime implements chain.Timed.
func (timed) BlockTime() time.Duration { return 10 * time.Minute }

// newTestInvoices returns the invoices of a fixture.
func newTestInvoices(f *fixture) *testInvoices {
	f.t.Helper()
	s := &testInvoices{fixture: f, net: simnet.New(f.storage, f.clock.Now), mode: invoice.Test}
	s.quote("BTC-EUR=80000,LTC-EUR=80,ETH-EUR=2500,EUR-USD=1.08")
	s.Service = invoice.NewService(invoice.Config{
		Storage: f.storage, Networks: map[invoice.Mode][]chain.Network{invoice.Test: {s.net}, invoice.Live: {timed{s.net}}}, Rates: func() invoice.Rates { return s.rates },
		Now: f.clock.Now, Log: slog.New(slog.DiscardHandler), Encode: func(*invoice.Invoice, invoice.Event) []byte { return []byte("{}") },
		NewID: new(tokentest.Counter).ID,
	})
	s.watcher = watcher.New(watcher.Config{
		Network: s.net, Storage: f.storage, Observer: s.Service, Holder: "test", Every: time.Second, Now: f.clock.Now, Log: slog.New(slog.DiscardHandler),
	})
	for _, kind := range []keys.Kind{keys.BTC, keys.LTC, keys.ETH} {
		_, key, err := keys.NewTestKey(rand.Reader, kind)
		f.must(err)
		s.wallets = append(s.wallets, invoice.Wallet{Asset: string(kind), Key: key.String(), Counter: key.Fingerprint()})
	}
	return s
}

// step runs the watcher and the expirer once.
func (s *testInvoices) step() {
	s.fixture.t.Helper()
	_, err := s.watcher.Step(s.fixture.t.Context())
	s.fixture.must(err)
	_, err = s.Expire(s.fixture.t.Context(), 100)
	s.fixture.must(err)
}

// sell creates an invoice of a merchant.
func (s *testInvoices) sell(merchantID, order, amount string) *invoice.Invoice {
	s.fixture.t.Helper()
	return s.sellFrom(invoice.Origin{Kind: invoice.FromLink, ID: "prints"}, merchantID, order, amount)
}

func (s *testInvoices) sellFrom(origin invoice.Origin, merchantID, order, amount string) *invoice.Invoice {
	s.fixture.t.Helper()
	s.fixture.clock.Advance(time.Second)
	s.step()
	inv, err := s.Create(s.fixture.t.Context(), invoice.CreateRequest{
		MerchantID: merchantID, Mode: s.mode, Wallets: s.wallets, ExpiresIn: 15 * time.Minute,
		Origin: origin,
		Terms:  invoice.Terms{Price: money.MustParse(amount, money.EUR), OrderID: order, Description: "Print <A4>", Rules: invoice.DefaultRules(money.EUR)},
	})
	s.fixture.must(err)
	return inv
}

// sellWithVAT creates an invoice whose price includes VAT.
func (s *testInvoices) sellWithVAT(merchantID, order, amount, rate string) *invoice.Invoice {
	s.fixture.t.Helper()
	s.step()
	inv, err := s.Create(s.fixture.t.Context(), invoice.CreateRequest{
		MerchantID: merchantID, Mode: s.mode, Wallets: s.wallets, ExpiresIn: 15 * time.Minute, Origin: invoice.Origin{Kind: invoice.FromProduct, ID: "print"},
		Terms: invoice.Terms{Price: money.MustParse(amount, money.EUR), VAT: vatRate(s.fixture.t, rate), OrderID: order, Rules: invoice.DefaultRules(money.EUR)},
	})
	s.fixture.must(err)
	return inv
}

// The page of an invoice shows the VAT that the price includes.
func TestPayment_shows_the_VAT(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	for rate, want := range map[string]string{"19": "Included VAT €4.76 at 19 %, €25.04 without", "7.7": "Included VAT €2.13 at 7.7 %, €27.67 without", "0": "Included VAT €0.00 at 0 %, €29.80 without", "": ""} {
		inv := f.testInvoices.sellWithVAT(shop, "order"+rate, "29.80", rate)
		page := b.get("/desk/shop/payments/"+inv.ID).want(http.StatusOK, "€29.80")
		got := ""
		page.find(".facts > div").Each(func(_ int, fact *selection) {
			if name := textOf(fact.Find("dt")); strings.Contains(name, "VAT") {
				got += name + " " + textOf(fact.Find("dd"))
			}
		})
		if got != want {
			t.Errorf("rate %q: got %q, want %q", rate, got, want)
		}
	}
}

// pay pays an amount of coins to an invoice, and returns the transaction.
func (s *testInvoices) pay(inv *invoice.Invoice, amount string) string {
	s.fixture.t.Helper()
	m, ok := inv.Method(simnet.ID, "BTC")
	if !ok {
		s.fixture.t.Fatal("the invoice has no method BTC")
	}
	tx, err := s.net.Pay(s.fixture.t.Context(), m.Asset, m.Destination.Script, money.MustParse(amount, m.Asset.Currency))
	s.fixture.must(err)
	s.step()
	return tx
}

// expire lets the quotes of all invoices end.
func (s *testInvoices) expire() {
	s.fixture.t.Helper()
	s.fixture.clock.Advance(16 * time.Minute)
	s.step()
}

func TestPayments_are_found_by_state_period_and_search(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	b.get("/desk/shop/payments").want(http.StatusOK, "No payments yet.")

	s := f.testInvoices
	old := s.sell(shop, "1041", "10.00")
	s.expire()
	s.sell("other", "1042", "80.00")
	waiting := s.sell(shop, "1042", "80.00")
	tx := s.pay(waiting, "0.0004")
	page := b.get("/desk/shop/payments?mode=test").want(http.StatusOK, "Test payments. No real money moves.")
	if got, want := page.names(), "1042 1041"; got != want {
		t.Errorf("the list has %q, want %q", got, want)
	}
	row := textOf(page.find(".rows tbody tr").First())
	if want := "1042 Print <A4> Bitcoin €48.00 short 12:16 €80.00"; row != want {
		t.Errorf("the first row is %q, want %q", row, want)
	}
	if got, want := textOf(page.find(".pick")), "All 2 Waiting 0 Seen 1 Paid 0 Needs attention 0 Expired 1 Cancelled 0"; got != want {
		t.Errorf("the states are %q, want %q", got, want)
	}
	m, _ := waiting.Method(simnet.ID, "BTC")
	for query, want := range map[string]string{
		"state=expired":                 "1041",
		"state=seen":                    "1042",
		"state=paid":                    "",
		"period=today":                  "1042 1041",
		"period=week":                   "1042 1041",
		"period=2026-11":                "1042 1041",
		"period=2026-12":                "",
		"period=2026-10":                "",
		"q=nothing":                     "",
		"q=" + strings.Repeat("x", 300): "",
		"state=unknown&q=%00":           "",
		"after=tomorrow":                "1042 1041",
		"after=0-":                      "",
	} {
		if got := b.get("/desk/shop/payments?mode=test&"+query).want(http.StatusOK, "Payments").names(); got != want {
			t.Errorf("%s lists %q, want %q", query, got, want)
		}
	}
	for _, q := range []string{"1042", waiting.ID, tx, strings.ToUpper(tx), m.Destination.Address, strings.ToUpper(m.Destination.Address), "bitcoin:" + m.Destination.Address, "80", "80.00", "80,00", "€80.00"} {
		b.get("/desk/shop/payments?mode=test&q=" + q).wantRedirect("/desk/shop/payments/" + waiting.ID)
	}
	b.get("/desk/shop/payments?mode=test&q=" + old.ID).wantRedirect("/desk/shop/payments/" + old.ID)
	for _, query := range []string{"period=yesterday", "period=2026-13"} {
		b.get("/desk/shop/payments?mode=test&"+query).want(http.StatusUnprocessableEntity, "There is no such period")
	}
}

// names returns the names of the invoices that a list has.
func (p page) names() string {
	p.t.Helper()
	return strings.Join(p.find(".rows .go1").Map(func(_ int, s *selection) string { return s.Text() }), " ")
}

// A list of several pages has each invoice once.
func TestPayments_pages_have_each_invoice_once(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	for i := range 27 {
		f.testInvoices.sell(shop, fmt.Sprint(1000+i), "10.00")
	}
	first := b.get("/desk/shop/payments?mode=test&state=waiting").want(http.StatusOK, "25 payments, newest first")
	older := first.find(".pager a").AttrOr("href", "")
	second := b.get(older).want(http.StatusOK, "2 payments, newest first")
	if got, want := second.names(), "1001 1000"; got != want || second.find(".pager a").Length() != 0 {
		t.Errorf("the second page has %q, want %q", got, want)
	}
	if !strings.Contains(older, "state=waiting") || !strings.Contains(older, "mode=test") {
		t.Errorf("the address of the second page is %q, want the state and the mode in it", older)
	}
}

// A page that several filters select examines a bounded number of payments, and leads to the next part of the list.
func TestPayments_search_back(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	inv := f.testInvoices.sell(shop, "1042", "10.00")
	for _, statement := range []string{
		`CREATE TABLE made AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2400)
			SELECT invoices.* FROM invoices, n WHERE id = '` + inv.ID + `'`,
		"UPDATE made SET id = printf('c%031d', rowid), created_at = created_at - rowid, origin = 'api', status = 'created'",
		"UPDATE made SET origin = 'link', status = 'expired' WHERE rowid % 2 = 0",
		"INSERT INTO invoices SELECT * FROM made",
	} {
		storagetest.Exec(t, f.database, statement)
	}
	first := b.get("/desk/shop/payments?mode=test&state=expired&source=api").want(http.StatusOK, "0 payments found since", "Search further back")
	if first.find(".rows").Length() != 0 {
		t.Error("the page has an empty table")
	}
	second := b.get(first.find(".pager a").AttrOr("href", "")).want(http.StatusOK, "No payments match")
	if second.find(".pager a").Length() != 0 {
		t.Error("the last page leads on")
	}
	b.get("/desk/shop/payments?mode=test&state=expired").want(http.StatusOK, "25 payments, newest first", "Older")
	b.get("/desk/shop/payments?mode=test&state=waiting&source=link:prints").want(http.StatusOK, "1 payment found since", "1042")
}

// A searched text keeps the meaning with which payments were found, and a further meaning begins with its newest
// payment.
func TestPayments_search_pages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	inv := f.testInvoices.sell(shop, "none", "10.00")
	for _, statement := range []string{
		`CREATE TABLE made AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2400)
			SELECT invoices.* FROM invoices, n WHERE id = '` + inv.ID + `'`,
		// the newest 30 have the reference 77; half of those below have the order 77, and the others are expired
		"UPDATE made SET id = printf('c%031d', rowid), created_at = created_at - rowid, order_id = '77', status = 'created'",
		"UPDATE made SET order_id = '78', status = 'expired' WHERE rowid % 2 = 1",
		"UPDATE made SET order_id = '', reference = '77', status = 'expired' WHERE rowid <= 30",
		"INSERT INTO invoices SELECT * FROM made",
	} {
		storagetest.Exec(t, f.database, statement)
	}
	// No order 77 is expired: the search for it ends before the list, and the references follow from the newest.
	page := b.get("/desk/shop/payments?mode=test&state=expired&q=77").want(http.StatusOK, "Search further back")
	page = b.get(page.find(".pager a").AttrOr("href", "")).want(http.StatusOK, "25 payments, newest first")
	if got := page.find(".rows tbody tr").First().Find("a").AttrOr("href", ""); !strings.HasSuffix(got, "/c"+strings.Repeat("0", 30)+"1") {
		t.Errorf("the first row of the second page leads to %q, want the invoice c0…01", got)
	}
	b.get(page.find(".pager a").AttrOr("href", "")).want(http.StatusOK, "5 payments, newest first")
	// All orders 77 that wait are listed, and then no references.
	page = b.get("/desk/shop/payments?mode=test&q=77").want(http.StatusOK, "25 payments, newest first")
	n := 25
	for older := page.find(".pager a").AttrOr("href", ""); older != ""; older = page.find(".pager a").AttrOr("href", "") {
		page = b.get(older)
		if page.status != http.StatusOK {
			t.Fatalf("%s answers %d", older, page.status)
		}
		n += page.find(".rows tbody tr").Length()
	}
	if n != 1185 {
		t.Errorf("the pages have %d payments, want the 1185 with the order", n)
	}
}

func TestPayment_shows_its_transfers_and_history(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	s := f.testInvoices
	inv := s.sell(shop, "1042", "80.00")
	at := "/desk/shop/payments/" + inv.ID
	b.get(at).want(http.StatusOK, "Waiting")
	tx := s.pay(inv, "0.0005")
	b.get(at).want(http.StatusOK, "€40.00 short")
	f.clock.Advance(time.Second)
	second := s.pay(inv, "0.0006")
	f.must(s.net.Confirm(t.Context(), []string{tx, second}))
	s.step()
	page := b.get(at).want(http.StatusOK, "Overpaid by €8.00")
	for _, want := range []string{
		"€80.00 Overpaid Order 1042 Reference 0000-0000", "Received 0.0005 BTC €40.00 Received 0.0006 BTC €48.00 Counted €88.00 Price €80.00 Overpaid €8.00",
		"Invoice created", "Transfer seen", "Checkout link prints", "Print <A4>", "Transfer of 0.0005 BTC Confirmed",
	} {
		if !strings.Contains(page.text(), want) {
			t.Errorf("the page lacks %q: %s", want, page.text())
		}
	}
	if got := page.find("code.addr").First().Text(); got != tx {
		t.Errorf("selecting the transaction gives %q, want %q", got, tx)
	}
	foreign := s.sell("other", "1", "5.00")
	b.get("/desk/shop/payments/"+foreign.ID).want(http.StatusNotFound, "Not found")
	b.get("/desk/shop/payments?mode=test&q="+foreign.ID).want(http.StatusOK, "No payments match")
	b.get("/desk/shop/payments/nothing").want(http.StatusNotFound, "Not found")
}

// The page of an invoice with a late payment asks the merchant for a decision.
func TestPayment_that_is_late_asks_for_a_decision(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.owner()
	b := f.as("Runa", account.Bookkeeper)
	inv := f.testInvoices.sell(shop, "", "80.00")
	f.testInvoices.expire()
	f.testInvoices.pay(inv, "0.001")
	page := b.get("/desk/shop/payments/"+inv.ID).want(http.StatusOK, "A payment arrived after the quote expired")
	for _, want := range []string{"Received late, not counted 0.001 BTC (€80.00)", "Counted €0.00 Price €80.00 Short €80.00", "Quote expired", "Late"} {
		if !strings.Contains(page.text(), want) {
			t.Errorf("the page lacks %q: %s", want, page.text())
		}
	}
	b.get("/desk/shop/payments?mode=test&state=attention").want(http.StatusOK, "1 payment, newest first")
}

// Malformed values of the list's query are refused or find nothing.
func TestPayments_with_malformed_queries(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	for _, method := range []string{"%00", "%ff"} {
		b.get("/desk/shop/payments?method=" + method).want(http.StatusUnprocessableEntity)
	}
	b.get("/desk/shop/payments?q=99999999999999999999").want(http.StatusOK, "No payments match")
}

// A list without live payments leads to the test payments of the shop, such as those of the demo.
func TestPayments_lead_to_test_payments(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	link := `a[href="/desk/shop/payments?mode=test"]`
	if b.get("/desk/shop/payments").want(http.StatusOK).find("main p "+link).Length() > 0 {
		t.Error("a shop without invoices has a link to test payments")
	}
	f.testInvoices.sell(shop, "1042", "40.00")
	if b.get("/desk/shop/payments").want(http.StatusOK).find("main p "+link).Length() != 1 {
		t.Error("the list without live payments does not lead to the test payments")
	}
	b.get("/desk/shop").want(http.StatusOK, "Show test payments")
}

// A payment that counts without a confirmation is shown as such until its first block.
func TestPayment_without_confirmation(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.owner()
	s := f.testInvoices
	inv, err := s.Create(t.Context(), invoice.CreateRequest{
		MerchantID: shop, Mode: s.mode, Wallets: s.wallets, ExpiresIn: 15 * time.Minute, ZeroConfirmationCents: map[string]int64{"BTC": 100_00},
		Terms: invoice.Terms{Price: money.MustParse("80", money.EUR), Rules: invoice.DefaultRules(money.EUR)},
	})
	f.must(err)
	f.clock.Advance(time.Second)
	tx := s.pay(inv, "0.001")
	at := "/desk/shop/payments/" + inv.ID
	b.get(at).want(http.StatusOK, "Accepted without confirmation")
	f.must(s.net.Confirm(t.Context(), []string{tx}))
	s.step()
	if page := b.get(at).want(http.StatusOK, "Confirmed"); strings.Contains(page.text(), "Accepted without confirmation") {
		t.Errorf("the payment in a block is shown as accepted without confirmation: %s", page.text())
	}
}
