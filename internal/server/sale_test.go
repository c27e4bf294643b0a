package server_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/api"
	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
)

// exchangeAccount returns an active exchange account.
func exchangeAccount() *merchant.ExchangeAccount {
	return &merchant.ExchangeAccount{ID: "xch_1", MerchantID: "shop", Exchange: "kraken", Coins: []string{"BTC"}, Smallest: "10", Slippage: 150, Active: true}
}

// The terms of a sale are the merchant's settings at the creation of the invoice.
func TestCreate_freezes_the_terms_of_sale(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	terms := func(key string) invoice.SaleTerms {
		t.Helper()
		inv, err := f.invoices.Invoice(t.Context(), f.create(t, key, `{"amount":56.50,"fiat_currency":"EUR"}`))
		if err != nil {
			t.Fatal(err)
		}
		return inv.Terms.Sale
	}
	sells := invoice.SaleTerms{Coins: []string{"BTC"}, Smallest: money.MustParse("10", invoice.SaleEuro), Slippage: 150}
	if diff := cmp.Diff(invoice.SaleTerms{}, terms("live")); diff != "" {
		t.Errorf("without an account (-want +got):\n%s", diff)
	}
	f.merchants.account = exchangeAccount()
	if diff := cmp.Diff(sells, terms("live")); diff != "" {
		t.Errorf("with an account (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(invoice.SaleTerms{}, terms("all")); diff != "" {
		t.Errorf("test invoice (-want +got):\n%s", diff)
	}
	f.creation.Worthless = true
	f.restart()
	if diff := cmp.Diff(invoice.SaleTerms{}, terms("live")); diff != "" {
		t.Errorf("on test networks (-want +got):\n%s", diff)
	}
	f.creation.Worthless = false
	f.restart()
	f.merchants.account.Active = false
	if diff := cmp.Diff(invoice.SaleTerms{}, terms("live")); diff != "" {
		t.Errorf("account inactive (-want +got):\n%s", diff)
	}
}

// recordSale records a sale of most of the coins of an invoice.
func (f *fixture) recordSale(t *testing.T, id string) {
	t.Helper()
	btc := func(text string) money.Amount { return money.MustParse(text, invoice.SaleCoin("BTC")) }
	eur := func(text string) money.Amount { return money.MustParse(text, invoice.SaleEuro) }
	rate, err := money.ParseRate("86420", invoice.SaleCoin("BTC"), money.EUR)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.storage.UpdateInvoice(t.Context(), id, invoice.Lease{}, func(inv *invoice.Invoice) error {
		c := invoice.Sale{
			Coin: "BTC", Amount: btc("0.00065379"), Rate: rate, Lowest: eur("85123.7"), Smallest: eur("10"), State: invoice.SaleWaiting,
			CreatedAt: noon, Since: noon, NextAt: noon,
		}
		order := invoice.SaleOrder{Number: 1, ID: "a-b", AccountID: "xch_1", Exchange: "kraken", Amount: c.Amount, Limit: c.Lowest, Before: btc("1"), SentAt: noon, Deadline: noon, WindowEnd: noon}
		err := errors.Join(
			c.Begin(order), c.MarkDone("OABCDE-FGHIJ-KLMNOP", invoice.Proceeds{Sold: btc("0.0006"), Euro: eur("51.8521"), Fee: eur("0.2074")}, noon), c.Wait(invoice.ReasonPartial, noon))
		inv.Sales = append(inv.Sales, c)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestResource_shows_sales_to_merchants(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	id := f.create(t, "live", `{"amount":56.50,"fiat_currency":"EUR"}`)
	f.recordSale(t, id)
	get := func(key, target string) string {
		t.Helper()
		response := f.send(message{method: "GET", target: target, key: key, signRequest: true})
		text := read(t, response)
		if response.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s", target, response.StatusCode, text)
		}
		return text
	}
	var r api.Resource
	if err := json.Unmarshal([]byte(get("liveread", "/api/v2/invoices/"+id)), &r); err != nil {
		t.Fatal(err)
	}
	want := []api.Sale{{
		CryptoCurrency: "BTC", Exchange: "kraken", State: "waiting", Reason: "partial", Reverted: true, Amount: "0.00065379", SoldAmount: "0.0006",
		RateEUR: "86420", LowestPrice: "85123.7", AveragePrice: "86420.167", EuroAmount: "51.8521", FeeAmount: "0.2074",
		Orders: []string{"OABCDE-FGHIJ-KLMNOP"}, CreatedAt: "2026-11-27T12:00:32.782Z", NextAt: "2026-11-27T12:00:32.782Z",
	}}
	if diff := cmp.Diff(want, r.Conversions); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := json.Unmarshal([]byte(get("page", "/api/v2/invoices/"+id)), &r); err != nil || len(r.Conversions) > 0 {
		t.Errorf("sales for the page's key = %+v, error %v, want none", r.Conversions, err)
	}
	if csv := get("liveread", "/api/v2/invoices/export?format=csv"); !strings.Contains(csv, ",false,0.0006 BTC,51.8521,0.2074,86420.167,") {
		t.Errorf("the export lacks the sale:\n%s", csv)
	}
}
