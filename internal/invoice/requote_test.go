package invoice_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/chain/simnet"
	"chequer/internal/invoice"
	"chequer/internal/keys"
	"chequer/internal/money"
)

// The conditions for a new quote are in SETTLEMENT.md, section 2.
func TestMayRequote(t *testing.T) {
	t.Parallel()
	half := full / 2
	expire := func(inv *invoice.Invoice) { scan(inv, quoteEnd.Add(time.Minute)) }
	for _, tt := range []struct {
		name              string
		facts             func(inv *invoice.Invoice)
		now               time.Time
		shopper, merchant bool
	}{
		{"while the price is held", func(*invoice.Invoice) {}, noon.Add(time.Minute), true, true},
		{"after the quote's end, before expiry is decided", func(*invoice.Invoice) {}, quoteEnd.Add(time.Hour), true, true},
		{"for a remainder", func(inv *invoice.Invoice) { observe(inv, 100, pay("a", int64(half), time.Minute)) }, noon.Add(2 * time.Minute), true, true},
		{"not when nothing is due", func(inv *invoice.Invoice) { observe(inv, 100, pay("a", full, time.Minute)) }, noon.Add(2 * time.Minute), false, false},
		{"expired, only the merchant", expire, quoteEnd.Add(time.Hour), false, true},
		{"expired, for 30 days", expire, quoteEnd.Add(30 * 24 * time.Hour), false, true},
		{"expired, not after 30 days", expire, quoteEnd.Add(30*24*time.Hour + time.Millisecond), false, false},
		{"expired and late allowed, for a day", func(inv *invoice.Invoice) {
			inv.Terms.AllowPaidExpired = true
			expire(inv)
		}, quoteEnd.Add(24 * time.Hour), true, true},
		{"expired and late allowed, not after a day", func(inv *invoice.Invoice) {
			inv.Terms.AllowPaidExpired = true
			expire(inv)
		}, quoteEnd.Add(24*time.Hour + time.Millisecond), false, true},
		{"the day starts at the first expiry", func(inv *invoice.Invoice) {
			inv.Terms.AllowPaidExpired = true
			inv.Quotes = append(inv.Quotes, quote(t, 2, quoteEnd.Add(23*time.Hour), "100", "80000"))
			scan(inv, quoteEnd.Add(26*time.Hour))
		}, quoteEnd.Add(25 * time.Hour), false, true},
		{"an extended quote is no expiry", func(inv *invoice.Invoice) {
			inv.Terms.AllowPaidExpired = true
			inv.Quotes = append(inv.Quotes, quote(t, 2, quoteEnd.Add(-time.Minute), "100", "80000"))
			scan(inv, quoteEnd.Add(20*time.Minute))
		}, quoteEnd.Add(24*time.Hour + 10*time.Minute), true, true},
		{"not while a late transfer waits for the merchant", func(inv *invoice.Invoice) {
			expire(inv)
			observe(inv, 101, inBlock(pay("a", full, time.Hour), 101, time.Hour))
		}, quoteEnd.Add(2 * time.Hour), false, false},
		{"not once declined", func(inv *invoice.Invoice) { inv.DeclinedAt = noon }, noon.Add(time.Minute), false, false},
		{"not after a hundred quotes", func(inv *invoice.Invoice) {
			for i := 2; i <= 100; i++ {
				inv.Quotes = append(inv.Quotes, quote(t, i, noon, "100", "80000"))
			}
		}, noon.Add(time.Minute), false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inv := newInvoice(t, quoteEnd.Add(-time.Minute))
			tt.facts(inv)
			got := []bool{inv.MayRequote(invoice.Shopper, tt.now), inv.MayRequote(invoice.Merchant, tt.now)}
			if diff := cmp.Diff(got, []bool{tt.shopper, tt.merchant}); diff != "" {
				t.Errorf("shopper, merchant (-got +want):\n%s", diff)
			}
		})
	}
}

func TestRequote_prices_the_remainder(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	inv := s.create("40")
	s.clock.Advance(time.Minute)
	s.pay(inv, "BTC", "0.0002") // 16.00
	s.wantStatus(inv, invoice.Pending, invoice.Underpaid)
	s.setRates("BTC-EUR=96000,LTC-EUR=90,ETH-EUR=2500,EUR-USD=1.08")
	s.clock.Advance(time.Minute)
	_, err := s.service.Requote(t.Context(), inv.ID, invoice.Shopper, 1)
	s.must(err)
	inv = s.reload(inv)
	q := inv.Quote()
	btc, _ := q.Price("BTC")
	got := fmt.Sprintf("%d %s %s %s %s", q.Number, q.Due, btc.Expected, q.From.Sub(noon), q.Until.Sub(noon))
	if want := "2 24 0.00025 2m0s 17m0s"; got != want {
		t.Errorf("quote %s, want %s", got, want)
	}
	tx := s.pay(inv, "BTC", "0.00025")
	s.must(s.net.Confirm(t.Context(), []string{tx}))
	s.must(s.net.Confirm(t.Context(), []string{inv.Transfers[0].Tx}))
	s.wantStatus(inv, invoice.Paid)
	want := []string{
		"1 invoice.created created", "2 payment.seen pending", "2 invoice.pending pending", "2 exception.raised pending",
		"3 invoice.requoted pending", "4 payment.seen paid", "4 payment.confirmed paid", "4 invoice.paid paid",
	}
	if diff := cmp.Diff(want, s.events()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// The amount due is rounded up to a cent for the new quote. That cent is not an overpayment.
func TestRequote_rounding_is_no_overpayment(t *testing.T) {
	t.Parallel()
	s := openShop(t, "BTC-EUR=86420,LTC-EUR=80,ETH-EUR=2500,EUR-USD=1.08")
	inv := s.create("100")
	first := s.pay(inv, "BTC", "0.00051234")
	s.wantStatus(inv, invoice.Pending, invoice.Underpaid)
	inv, err := s.service.Requote(t.Context(), inv.ID, invoice.Shopper, 0)
	s.must(err)
	price, _ := inv.Quote().Price("BTC")
	second := s.pay(inv, "BTC", price.Expected.String())
	s.must(s.net.Confirm(t.Context(), []string{first, second}))
	if got := s.wantStatus(inv, invoice.Paid).State.Overpaid; !got.IsZero() {
		t.Errorf("overpaid %s", got)
	}
}

func TestRequote_reopens_an_expired_invoice(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	inv := s.create("40")
	s.clock.Advance(16 * time.Minute)
	s.wantStatus(inv, invoice.Expired)
	if _, err := s.service.Requote(t.Context(), inv.ID, invoice.Shopper, 0); !errors.Is(err, invoice.ErrState) {
		t.Errorf("the shopper of an expired invoice: %v", err)
	}
	_, err := s.service.Requote(t.Context(), inv.ID, invoice.Merchant, 0)
	s.must(err)
	s.wantStatus(inv, invoice.Created)
	s.clock.Advance(20 * 24 * time.Hour) // longer than the first quote alone was watched
	s.wantStatus(inv, invoice.Expired)
	s.clock.Advance(10*24*time.Hour + 10*time.Minute)
	s.pay(inv, "BTC", "0.0005")
	s.wantStatus(inv, invoice.Expired, invoice.Late)
}

// A double click requests the same quote twice: of any number of concurrent requests only one adds
// a quote.
func TestRequote_is_done_once_per_quote_seen(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	inv := s.create("40")
	s.clock.Advance(time.Minute)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if _, err := s.service.Requote(t.Context(), inv.ID, invoice.Shopper, 1); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got := len(s.reload(inv).Quotes); got != 2 {
		t.Errorf("%d quotes", got)
	}
}

func TestRequote_leaves_out_methods_that_cannot_carry_the_remainder(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	inv := s.create("40")
	s.pay(inv, "BTC", "0.00049994") // half a cent remains, which is rounded up to a cent
	s.wantStatus(inv, invoice.Pending, invoice.Underpaid)
	inv, err := s.service.Requote(t.Context(), inv.ID, invoice.Shopper, 0)
	s.must(err)
	var codes []string
	for _, p := range inv.Quote().Prices {
		codes = append(codes, p.Asset)
	}
	for _, code := range codes {
		if code == "BTC" {
			t.Errorf("methods %v carry %s EUR", codes, inv.Quote().Due)
		}
	}
	if len(codes) == 0 || len(inv.Methods) == len(codes) {
		t.Errorf("methods %v of %d", codes, len(inv.Methods))
	}

	only := s.create("40", "BTC")
	s.pay(only, "BTC", "0.00049994")
	s.wantStatus(only, invoice.Pending, invoice.Underpaid)
	if _, err := s.service.Requote(t.Context(), only.ID, invoice.Shopper, 0); !errors.Is(err, invoice.ErrTooLittle) {
		t.Errorf("no method carries the remainder: %v", err)
	}
	s.setRates("LTC-EUR=80,EUR-USD=1.08")
	if _, err := s.service.Requote(t.Context(), only.ID, invoice.Shopper, 0); !errors.Is(err, invoice.ErrNoRate) {
		t.Errorf("no rate: %v", err)
	}
	if got := len(s.reload(only).Quotes); got != 1 {
		t.Errorf("%d quotes after refusals", got)
	}
}

func TestRequote_keeps_its_evidence(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	inv := s.create("40")
	s.mu.Lock()
	s.rates = evidenced{s.rates}
	s.mu.Unlock()
	inv, err := s.service.Requote(t.Context(), inv.ID, invoice.Shopper, 0)
	s.must(err)
	text, err := s.service.Evidence(t.Context(), s.reload(inv).Quote().Evidence)
	if err != nil || !strings.HasPrefix(text, "evidence of EUR [BTC USDC EURC ETH LTC]") {
		t.Errorf("evidence %q, %v", text, err)
	}
}

// evidenced are rates with evidence.
type evidenced struct{ invoice.Rates }

func (evidenced) Evidence(fiat money.Currency, codes ...string) string {
	return fmt.Sprintf("evidence of %s %v", fiat.Code, codes)
}

func TestSetRefundAddress_refuses_wrong_addresses_and_a_second_one(t *testing.T) {
	t.Parallel()
	shop := openShop(t, table)
	other := shop.create("40")
	inv := shop.create("40")
	const first, second = "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx", "mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn"
	set := func(asset, address string) error {
		_, err := shop.service.SetRefundAddress(t.Context(), inv.ID, "key_page", asset, address)
		return err
	}
	if err := set("BTC", first); !errors.Is(err, invoice.ErrNothingReceived) {
		t.Errorf("with nothing received: %v", err)
	}
	shop.pay(inv, "BTC", "0.0005")
	shop.wantStatus(inv, invoice.Pending)
	otherMethod, _ := other.Method(simnet.ID, "BTC")
	method, _ := inv.Method(simnet.ID, "BTC")
	for _, tt := range []struct {
		name, asset, address string
		want                 error
	}{
		{"another method", "ETH", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", invoice.ErrRefundAsset},
		{"another coin", "BTC", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", keys.ErrAddress},
		{"the real network", "BTC", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", keys.ErrNetwork},
		{"a mistyped letter", "BTC", "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsy", keys.ErrAddress},
		{"an address of another invoice", "BTC", strings.ToUpper(otherMethod.Destination.Address), invoice.ErrPaymentAddress},
		{"the paid address", "BTC", method.Destination.Address, invoice.ErrPaymentAddress},
		{"a private key", "BTC", "L1aW4aubDFB7yfras2S1mN3bqg9nwySY8nkoLmJebSLD5BWv3ENZ", keys.ErrPrivateKey},
		{"nothing", "BTC", "  ", keys.ErrAddress},
		{"a link without an address", "BTC", "bitcoin:?amount=1", keys.ErrAddress},
		{"a link of another network", "BTC", "litecoin:" + first, keys.ErrAddress},
		{"a link to an address of an invoice", "BTC", "bitcoin:" + otherMethod.Destination.Address + "?amount=1", invoice.ErrPaymentAddress},
		{"a link with a private key", "BTC", "bitcoin:L1aW4aubDFB7yfras2S1mN3bqg9nwySY8nkoLmJebSLD5BWv3ENZ", keys.ErrPrivateKey},
	} {
		if err := set(tt.asset, tt.address); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
	if got := shop.reload(inv); !got.RefundAddress.IsZero() {
		t.Errorf("every address was refused, but the refund is set to %v", got.RefundAddress)
	}
	version := shop.reload(inv).Version
	shop.must(set("BTC", " "+strings.ToUpper(first)+"\n"))
	shop.must(set("BTC", first)) // again the same
	shop.must(set("BTC", "bitcoin:"+first+"?amount=0.1&label=My%20wallet"))
	shop.must(set("BTC", "BITCOIN:"+strings.ToUpper(first)))
	got := shop.reload(inv)
	if got.RefundAddress != (invoice.RefundAddress{Asset: "BTC", Address: first, By: "key_page"}) || got.Version != version+1 {
		t.Errorf("refund to %v in version %d, before %d", got.RefundAddress, got.Version, version)
	}
	if err := set("BTC", second); !errors.Is(err, invoice.ErrRefundSet) {
		t.Errorf("another address: %v", err)
	}
}

func TestSetRefundAddress_checks_capitals_of_Ethereum(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	inv := s.create("40")
	s.pay(inv, "USDC", "40")
	s.step()
	const valid = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	if _, err := s.service.SetRefundAddress(t.Context(), inv.ID, "shopper", "USDC", strings.Replace(valid, "BeAed", "BeaEd", 1)); !errors.Is(err, keys.ErrAddress) {
		t.Errorf("wrong capitals: %v", err)
	}
	got, err := s.service.SetRefundAddress(t.Context(), inv.ID, "shopper", "USDC", strings.ToLower(valid))
	if err != nil || got.RefundAddress.Address != valid {
		t.Errorf("refund to %v, %v", got.RefundAddress, err)
	}
}

func TestScripts_finds_any_spelling_of_an_address(t *testing.T) {
	t.Parallel()
	s := openShop(t, table)
	inv := s.create("40")
	s.create("41")
	f := invoice.Filter{MerchantID: "m", Mode: invoice.Test}
	for _, code := range []string{"BTC", "USDC"} {
		m, _ := inv.Method(simnet.ID, code)
		for _, address := range []string{m.Destination.Address, strings.ToLower(m.Destination.Address), "0x" + strings.ToUpper(m.Destination.Address[2:])} {
			if code == "BTC" && strings.HasPrefix(address, "0x") {
				address = strings.ToUpper(m.Destination.Address)
			}
			f.Scripts = s.service.Scripts(f.Mode, address)
			found, _, err := s.service.Invoices(t.Context(), f, invoice.Position{}, 10)
			if err != nil || len(found) != 1 || found[0].ID != inv.ID {
				t.Errorf("%s: found %d, %v", address, len(found), err)
			}
		}
	}
	f.Mode = invoice.Live
	m, _ := inv.Method(simnet.ID, "BTC")
	f.Scripts = s.service.Scripts(f.Mode, m.Destination.Address)
	if found, _, err := s.service.Invoices(t.Context(), f, invoice.Position{}, 10); len(found) != 0 || err != nil {
		t.Errorf("a test invoice among live ones: %d, %v", len(found), err)
	}
}
