package storage_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/sale"
	"chequer/internal/storage"
)

func newExchange(id, merchantID string) merchant.ExchangeAccount {
	return merchant.ExchangeAccount{
		ID: id, MerchantID: merchantID, Exchange: "kraken", Key: "key of " + id, Secret: "hush " + id, Coins: []string{"BTC", "ETH"}, Smallest: "12.50",
		Slippage: 150, Active: true, CreatedAt: noon,
	}
}

func newSale(coin string) invoice.Sale {
	rate, err := money.ParseRate("86420", invoice.SaleCoin(coin), money.EUR)
	if err != nil {
		panic(err)
	}
	return invoice.Sale{
		Coin: coin, Amount: money.MustParse("0.00065379", invoice.SaleCoin(coin)), Rate: rate, Lowest: money.MustParse("84691.6", invoice.SaleEuro),
		Smallest: money.MustParse("12.5", invoice.SaleEuro), State: invoice.SaleWaiting, CreatedAt: noon, Since: noon, NextAt: noon,
	}
}

// paidWith makes an invoice paid, with sales.
func paidWith(t testing.TB, s *storage.Storage, id string, sales ...invoice.Sale) error {
	t.Helper()
	_, err := s.UpdateInvoice(t.Context(), id, invoice.Lease{}, func(inv *invoice.Invoice) error {
		inv.State.Status, inv.State.PaidAt = invoice.Paid, noon
		inv.Sales = append(inv.Sales, sales...)
		return nil
	})
	return err
}

func TestExchangeAccount_is_read_changed_and_archived(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		ctx := t.Context()
		if _, err := s.ExchangeAccount(ctx, "shop"); !errors.Is(err, merchant.ErrNotFound) {
			t.Errorf("without an account: got error %v, want %v", err, merchant.ErrNotFound)
		}
		a := newExchange("x1", "shop")
		if err := s.CreateExchangeAccount(ctx, a); err != nil {
			t.Fatal(err)
		}
		if err := s.CreateExchangeAccount(ctx, newExchange("x2", "shop")); !errors.Is(err, merchant.ErrExists) {
			t.Errorf("a second account: got error %v, want %v", err, merchant.ErrExists)
		}
		if err := s.CreateExchangeAccount(ctx, newExchange("x3", "bakery")); err != nil {
			t.Fatal(err)
		}
		got, err := s.ExchangeAccount(ctx, "shop")
		if diff := cmp.Diff(a, got); err != nil || diff != "" {
			t.Errorf("error %v (-want +got):\n%s", err, diff)
		}
		for _, stored := range rows(t, url, "SELECT secret FROM exchange_accounts") {
			if strings.Contains(stored, "hush") {
				t.Errorf("a secret is readable: %q", stored)
			}
		}
		for _, statement := range []string{
			"UPDATE exchange_accounts SET slippage = 9999 WHERE id = 'x1'",
			"UPDATE exchange_accounts SET key = 'a thief''s', slippage = 150 WHERE id = 'x1'",
			"UPDATE exchange_accounts SET key = 'key of x1', secret = (SELECT secret FROM exchange_accounts WHERE id = 'x3') WHERE id = 'x1'",
		} {
			execSQL(t, url, statement)
			if _, err := s.ExchangeAccount(ctx, "shop"); !errors.Is(err, merchant.ErrTampered) {
				t.Errorf("after %s: got error %v, want %v", statement, err, merchant.ErrTampered)
			}
		}
		_, err = s.UpdateExchangeAccount(ctx, "bakery", func(a *merchant.ExchangeAccount) error {
			a.ArchivedAt = noon.Add(time.Hour)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.CreateExchangeAccount(ctx, newExchange("x4", "bakery")); err != nil {
			t.Errorf("after the first was archived: %v", err)
		}
	})
}

func TestSales_are_written_once(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		create(t, s, creation("a", "shop"))
		bitcoin := newSale("BTC")
		if err := paidWith(t, s, "a", bitcoin); err != nil {
			t.Fatal(err)
		}
		if err := paidWith(t, s, "a", newSale("BTC")); err == nil {
			t.Error("a second sale of the same coin was written")
		}
		// It is refused even if the invoice's row has the wrong number of sales.
		execSQL(t, url, "UPDATE invoices SET conversions = 0 WHERE id = 'a'")
		if err := paidWith(t, s, "a", newSale("ETH")); err == nil {
			t.Error("a second sale was written for an invoice that had one")
		}
		execSQL(t, url, "UPDATE invoices SET conversions = 1 WHERE id = 'a'")

		_, err := s.UpdateInvoice(t.Context(), "a", invoice.Lease{}, func(inv *invoice.Invoice) error {
			c, _ := inv.Sale("BTC")
			return c.Begin(invoice.SaleOrder{
				Number: 1, ID: "id", AccountID: "x1", Exchange: "kraken", Amount: c.Amount, Limit: c.Lowest, Before: money.MustParse("1.5", c.Amount.Currency()),
				SentAt: noon, Deadline: noon.Add(10 * time.Second), WindowEnd: noon.Add(70 * time.Second), Lookups: 1,
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := bitcoin.Begin(invoice.SaleOrder{
			Number: 1, ID: "id", AccountID: "x1", Exchange: "kraken", Amount: bitcoin.Amount, Limit: bitcoin.Lowest, Before: money.MustParse("1.5", bitcoin.Amount.Currency()),
			SentAt: noon, Deadline: noon.Add(10 * time.Second), WindowEnd: noon.Add(70 * time.Second), Lookups: 1,
		}); err != nil {
			t.Fatal(err)
		}
		inv, err := s.Invoice(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]invoice.Sale{bitcoin}, inv.Sales, same); diff != "" {
			t.Errorf("read (-want +got):\n%s", diff)
		}
		listed, _, err := s.Invoices(t.Context(), invoice.Filter{MerchantID: "shop", Mode: invoice.Live}, invoice.Position{}, 10)
		if err != nil || len(listed) != 1 {
			t.Fatalf("listed %d, error %v", len(listed), err)
		}
		if diff := cmp.Diff(inv.Sales, listed[0].Sales, same); diff != "" {
			t.Errorf("listed (-want +got):\n%s", diff)
		}
		for state, want := range map[invoice.SaleState]int{"": 1, invoice.SaleSending: 1, invoice.SaleFailed: 0} {
			if got, err := s.InvoicesWithSales(t.Context(), "shop", state, 10); err != nil || len(got) != want {
				t.Errorf("%q: got %d, error %v, want %d", state, len(got), err, want)
			}
		}
		counts, err := s.SaleCounts(t.Context())
		if diff := cmp.Diff(map[invoice.SaleState]int{invoice.SaleSending: 1}, counts); err != nil || diff != "" {
			t.Errorf("counts: error %v (-want +got):\n%s", err, diff)
		}
	})
}

func TestInvoicesWithSales_lists_the_newest_first(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		for id, sales := range map[string][]invoice.Sale{"a": {newSale("BTC"), newSale("ETH")}, "b": {newSale("ETH")}, "c": {newSale("BTC")}} {
			create(t, s, creation(id, "shop"))
			for i := range sales {
				if sales[i].Coin == "ETH" {
					sales[i].State = invoice.SaleFilled
				}
				if id == "b" {
					sales[i].CreatedAt = noon.Add(time.Second)
				}
			}
			if err := paidWith(t, s, id, sales...); err != nil {
				t.Fatal(err)
			}
		}
		for _, test := range []struct {
			state invoice.SaleState
			limit int
			want  []string
		}{
			{"", 9, []string{"b paid ETH", "a paid BTC ETH", "c paid BTC"}},
			{"", 2, []string{"b paid ETH", "a paid BTC ETH"}},
			{invoice.SaleFilled, 9, []string{"b paid ETH", "a paid ETH"}},
			{invoice.SaleFilled, 1, []string{"b paid ETH"}},
			{invoice.SaleFailed, 9, nil},
		} {
			list, err := s.InvoicesWithSales(t.Context(), "shop", test.state, test.limit)
			var got []string
			for _, l := range list {
				text := l.ID + " " + string(l.Status)
				for _, c := range l.Sales {
					text += " " + c.Coin
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
				t.Errorf("%d in state %q: error %v (-want +got):\n%s", test.limit, test.state, err, diff)
			}
		}
	})
}

func TestClaimSale_gives_a_due_sale_to_one_process(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		ctx, claimedUntil := t.Context(), noon.Add(90*time.Second)
		checkNoneDue := func(why string, now time.Time) {
			t.Helper()
			if c, err := s.ClaimSale(ctx, now, now.Add(90*time.Second)); !errors.Is(err, sale.ErrNothing) {
				t.Errorf("%s: got %+v, error %v, want %v", why, c, err, sale.ErrNothing)
			}
		}
		create(t, s, creation("a", "shop"))
		later := newSale("ETH")
		later.NextAt = noon.Add(time.Second)
		if err := paidWith(t, s, "a", newSale("BTC"), later); err != nil {
			t.Fatal(err)
		}
		checkNoneDue("without an account", noon)
		if err := s.CreateExchangeAccount(ctx, newExchange("x1", "shop")); err != nil {
			t.Fatal(err)
		}
		execSQL(t, url, "UPDATE invoices SET status = 'pending' WHERE id = 'a'")
		checkNoneDue("of an invoice that is not paid", noon)
		execSQL(t, url, "UPDATE invoices SET status = 'paid' WHERE id = 'a'")
		checkNoneDue("before it is due", noon.Add(-time.Second))
		first, err := s.ClaimSale(ctx, noon, claimedUntil)
		if err != nil || first.Coin != "BTC" || first.InvoiceID != "a" || first.Account.Secret != "hush x1" || first.Nonce <= noon.UnixMicro() {
			t.Fatalf("got %+v, error %v", first, err)
		}
		checkNoneDue("while another process has claimed the account", noon.Add(time.Minute))
		if err := s.ReleaseSale(ctx, first); err != nil {
			t.Fatal(err)
		}
		second, err := s.ClaimSale(ctx, noon, claimedUntil.Add(1))
		if err != nil || second.Nonce < first.Nonce+1000 {
			t.Fatalf("got %+v, error %v", second, err)
		}
		inv, err := s.Invoice(ctx, "a")
		if err != nil || inv.Sales[0].Claim != second.Nonce {
			t.Errorf("got claim %d, error %v, want %d", inv.Sales[0].Claim, err, second.Nonce)
		}
		third, err := s.ClaimSale(ctx, claimedUntil.Add(time.Second), claimedUntil.Add(2*time.Minute)) // the second claim has ended
		if err != nil || third.Nonce <= second.Nonce {
			t.Fatalf("got %+v, error %v", third, err)
		}
		if err := s.ReleaseSale(ctx, second); err != nil { // the claim has ended: no effect
			t.Fatal(err)
		}
		checkNoneDue("after the holder of an older claim released it", claimedUntil.Add(2*time.Second))
		if err := s.ReleaseSale(ctx, third); err != nil {
			t.Fatal(err)
		}
		_, err = s.UpdateExchangeAccount(ctx, "shop", func(a *merchant.ExchangeAccount) error {
			a.Active = false
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		checkNoneDue("with an account that is not active", claimedUntil.Add(3*time.Minute))
		execSQL(t, url, "UPDATE conversions SET state = 'sending' WHERE coin = 'BTC'")
		if c, err := s.ClaimSale(ctx, claimedUntil.Add(3*time.Minute), claimedUntil.Add(4*time.Minute)); err != nil || c.Coin != "BTC" {
			t.Errorf("an order whose outcome is unknown: got %+v, error %v", c, err)
		}
	})
}
