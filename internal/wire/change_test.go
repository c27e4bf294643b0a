package wire_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/api"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/wire"
)

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func equalAmounts(a, b money.Amount) bool { return a.Currency() == b.Currency() && a.Cmp(b) == 0 }

func TestChangeLink_changes_only_the_given_fields(t *testing.T) {
	t.Parallel()
	link := merchant.Link{
		Slug: "coffee", MerchantID: "shop", Mode: merchant.Live, Amount: "3.5", Currency: "EUR", Description: "Coffee", Language: "de",
		URLSuccess: "https://shop.example/a", URLFailure: "https://shop.example/b", Methods: "BTC ETH", EndsAt: noon, MaxUses: 7, CreatedAt: noon,
	}
	changed := merchant.Link{
		Slug: "coffee", MerchantID: "shop", Mode: merchant.Live, Amount: "4", Currency: "USD", Description: "Tea", Language: "en",
		URLSuccess: "https://shop.example/c", URLFailure: "https://shop.example/d", Methods: "LTC", EndsAt: noon.Add(time.Hour), MaxUses: 8, CreatedAt: noon,
	}
	cleared := merchant.Link{Slug: "coffee", MerchantID: "shop", Mode: merchant.Live, CreatedAt: noon}
	for name, tt := range map[string]struct {
		change api.LinkChange
		want   merchant.Link
		field  string // of the fault
	}{
		"nothing": {api.LinkChange{}, link, ""},
		"every field": {api.LinkChange{
			Amount: new("4"), FiatCurrency: new("USD"), Description: new("Tea"), Language: new("en"), URLSuccess: new("https://shop.example/c"),
			URLFailure: new("https://shop.example/d"), PaymentMethods: &[]string{"LTC"}, EndsAt: new("2026-11-27T14:00:00.0004+01:00"), MaxUses: new(8),
		}, changed, ""},
		"empty values": {api.LinkChange{
			Amount: new(""), FiatCurrency: new(""), Description: new(""), Language: new(""), URLSuccess: new(""), URLFailure: new(""),
			PaymentMethods: &[]string{}, EndsAt: new(""), MaxUses: new(0),
		}, cleared, ""},
		"not a time":       {api.LinkChange{EndsAt: new("tomorrow")}, merchant.Link{}, "ends_at"},
		"a method twice":   {api.LinkChange{PaymentMethods: &[]string{"BTC", "BTC"}}, merchant.Link{}, "payment_methods"},
		"a wrong method":   {api.LinkChange{PaymentMethods: &[]string{"btc"}}, merchant.Link{}, "payment_methods"},
		"time before Unix": {api.LinkChange{EndsAt: new("1969-12-31T23:59:59Z")}, merchant.Link{}, "ends_at"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := link
			err := wire.ChangeLink(&got, tt.change)
			if tt.field != "" {
				if fault, ok := errors.AsType[*merchant.FieldError](err); !ok || fault.Field != tt.field {
					t.Errorf("error = %v, want a FieldError of %s", err, tt.field)
				}
				return
			}
			if diff := cmp.Diff(got, tt.want); err != nil || diff != "" {
				t.Errorf("error %v, link (-got +want):\n%s", err, diff)
			}
		})
	}
}

func vatRate(t *testing.T, text string) money.VATRate {
	t.Helper()
	v, err := merchant.ParseVATRate(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestChangeProduct_changes_only_the_given_fields(t *testing.T) {
	t.Parallel()
	prices := merchant.NewPrices(nil, "1000")
	price := merchant.NewProducts(merchant.ProductsConfig{Prices: prices}).Price
	product := merchant.Product{
		Slug: "coffee", Name: "Coffee", Description: "Hot", Price: money.MustParse("3.50", money.EUR), MaxQuantity: 5, VAT: vatRate(t, "19"),
		AskOrderID: merchant.AskNo, AskNote: merchant.AskRequired, Methods: "BTC", Active: true,
	}
	for name, tt := range map[string]struct {
		change api.ProductChange
		want   func(*merchant.Product)
		fault  string
	}{
		"nothing":  {api.ProductChange{}, func(*merchant.Product) {}, ""},
		"amount":   {api.ProductChange{Price: new("4")}, func(p *merchant.Product) { p.Price = money.MustParse("4", money.EUR) }, ""},
		"currency": {api.ProductChange{FiatCurrency: new("USD")}, func(p *merchant.Product) { p.Price = money.MustParse("3.50", money.USD) }, ""},
		"other fields": {
			api.ProductChange{
				Name: new("Tea"), Description: new(""), MaxQuantity: new(0), AskOrderID: new("optional"), AskNote: new("no"),
				PaymentMethods: &[]string{"ETH", "LTC"}, Active: new(false),
			},
			func(p *merchant.Product) {
				p.Name, p.Description, p.MaxQuantity, p.Methods, p.Active = "Tea", "", 0, "ETH LTC", false
				p.AskOrderID, p.AskNote = merchant.AskOptional, merchant.AskNo
			}, "",
		},
		"VAT rate":         {api.ProductChange{VATRate: new("7.70")}, func(p *merchant.Product) { p.VAT = vatRate(t, "7.7") }, ""},
		"no VAT":           {api.ProductChange{VATRate: new("")}, func(p *merchant.Product) { p.VAT = money.VATRate{} }, ""},
		"much VAT":         {api.ProductChange{VATRate: new("50.01")}, nil, "vat_rate must be at most 50 percent"},
		"too much":         {api.ProductChange{Price: new("1001")}, nil, "price must be at most 1000 EUR"},
		"unknown currency": {api.ProductChange{FiatCurrency: new("XXX")}, nil, "fiat_currency must be EUR or USD"},
		"a method twice":   {api.ProductChange{PaymentMethods: &[]string{"BTC", "BTC"}}, nil, "payment_methods must not contain BTC twice"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := product
			err := wire.ChangeProduct(&got, tt.change, price)
			if tt.fault != "" {
				if err == nil || err.Error() != tt.fault {
					t.Errorf("error = %v, want %s", err, tt.fault)
				}
				return
			}
			want := product
			tt.want(&want)
			if diff := cmp.Diff(got, want, cmp.Comparer(equalAmounts)); err != nil || diff != "" {
				t.Errorf("error %v, product (-got +want):\n%s", err, diff)
			}
		})
	}
}

func TestLink_has_the_fields_of_the_change(t *testing.T) {
	t.Parallel()
	l := merchant.Link{Slug: "coffee", Mode: merchant.Test, CreatedAt: noon}
	if err := wire.ChangeLink(&l, api.LinkChange{FiatCurrency: new("EUR"), EndsAt: new("2026-12-31T23:00:00Z")}); err != nil {
		t.Fatal(err)
	}
	want := api.Link{
		Slug: "coffee", URL: "https://pay.example/pay/coffee", Mode: "test", FiatCurrency: "EUR", PaymentMethods: []string{},
		EndsAt: "2026-12-31T23:00:00.000Z", CreatedAt: "2026-11-27T12:00:00.000Z",
	}
	if diff := cmp.Diff(wire.Link("https://pay.example", l), want); diff != "" {
		t.Errorf("link (-got +want):\n%s", diff)
	}
}

// The constants of package api for pages equal those of the domain.
func TestConstants_of_api_equal_those_of_the_domain(t *testing.T) {
	t.Parallel()
	got := []any{api.AskNo, api.AskOptional, api.AskRequired, api.MaxQuantity}
	want := []any{string(merchant.AskNo), string(merchant.AskOptional), string(merchant.AskRequired), merchant.MaxQuantity}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("constants (-api +merchant):\n%s", diff)
	}
}

// The bounds in the rules of requests are those of the domain and of the pages.
func TestRules_have_the_bounds_of_the_domain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		request any
		field   string
		want    int64
	}{
		{api.LinkChange{}, "max_uses", merchant.MaxLinkUses},
		{api.ProductChange{}, "max_quantity", merchant.MaxQuantity},
		{api.ProductOrder{}, "quantity", merchant.MaxQuantity},
		{api.ProductOrder{}, "order_id", api.MaxShopperOrderID},
		{api.ProductOrder{}, "note", api.MaxShopperNote},
		{api.CheckoutRequest{}, "order_id", api.MaxShopperOrderID},
		{api.CheckoutRequest{}, "note", api.MaxShopperNote},
	} {
		requestType := reflect.TypeOf(tt.request)
		for _, f := range api.FieldsOf(requestType) {
			if f.Name == tt.field && f.Rule.Bounds[len(f.Rule.Bounds)-1] != tt.want {
				t.Errorf("%s.%s has the bounds %d, want %d", requestType.Name(), f.Name, f.Rule.Bounds, tt.want)
			}
		}
	}
}
