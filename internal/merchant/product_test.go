package merchant_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"chequer/internal/merchant"
	"chequer/internal/money"
)

func newProducts(m *memory) *merchant.Products {
	return merchant.NewProducts(merchant.ProductsConfig{Storage: m, Prices: prices, Now: now})
}

func coffee() merchant.Product {
	return merchant.Product{
		Slug: "coffee", MerchantID: "shop", Mode: merchant.Live, Name: "Filter coffee", Price: money.MustParse("3.50", money.EUR),
		AskOrderID: merchant.AskNo, AskNote: merchant.AskNo, Active: true,
	}
}

func TestProducts_refuse_invalid_products(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		set   func(*merchant.Product)
		fault string
	}{
		"valid":                             {func(*merchant.Product) {}, ""},
		"hidden":                            {func(p *merchant.Product) { p.Active = false }, ""},
		"no slug":                           {func(p *merchant.Product) { p.Slug = "" }, "slug must have 1 to 64 letters a to z, digits and hyphens"},
		"slug with an underscore":           {func(p *merchant.Product) { p.Slug = "filter_coffee" }, "slug must have 1 to 64 letters a to z, digits and hyphens"},
		"name of 120 characters":            {func(p *merchant.Product) { p.Name = strings.Repeat("é", 120) }, ""},
		"name of 121 characters":            {func(p *merchant.Product) { p.Name = strings.Repeat("é", 121) }, "name must have at most 120 characters"},
		"no name":                           {func(p *merchant.Product) { p.Name = "" }, "name must not be empty"},
		"name of spaces":                    {func(p *merchant.Product) { p.Name = " \u00a0" }, "name must not be empty"},
		"name of two lines":                 {func(p *merchant.Product) { p.Name = "Filter\ncoffee" }, "name must not contain the invisible character U+000A"},
		"name that reverses later text":     {func(p *merchant.Product) { p.Name = "Coffee\u202e" }, "name must not contain the invisible character U+202E"},
		"description of 1000 characters":    {func(p *merchant.Product) { p.Description = strings.Repeat("a", 1000) }, ""},
		"description of 1001 characters":    {func(p *merchant.Product) { p.Description = strings.Repeat("a", 1001) }, "description must have at most 1000 characters"},
		"description in wrong UTF-8":        {func(p *merchant.Product) { p.Description = "\xff" }, "description must be valid UTF-8"},
		"the largest quantity":              {func(p *merchant.Product) { p.MaxQuantity = 9999 }, ""},
		"a larger quantity":                 {func(p *merchant.Product) { p.MaxQuantity = 10000 }, "max_quantity must be a whole number from 0 to 9999"},
		"negative quantity":                 {func(p *merchant.Product) { p.MaxQuantity = -1 }, "max_quantity must be a whole number from 0 to 9999"},
		"questions":                         {func(p *merchant.Product) { p.AskOrderID, p.AskNote = merchant.AskRequired, merchant.AskOptional }, ""},
		"unknown word for the order number": {func(p *merchant.Product) { p.AskOrderID = "yes" }, "ask_order_id must be no, optional or required"},
		"no word for the note":              {func(p *merchant.Product) { p.AskNote = "" }, "ask_note must be no, optional or required"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, p := newMemory(), coffee()
			tt.set(&p)
			_, err := newProducts(m).Create(t.Context(), p)
			checkFault(t, err, tt.fault)
			if stored := len(m.products) == 1; stored != (tt.fault == "") {
				t.Errorf("product is stored = %v", stored)
			}

			m.products = map[string]merchant.Product{"coffee": coffee()}
			_, err = newProducts(m).Change(t.Context(), "shop", merchant.Live, "coffee", func(p *merchant.Product) error {
				tt.set(p)
				return nil
			})
			checkFault(t, err, tt.fault)
		})
	}
}

func TestProducts_Create_enforces_the_limit_and_unique_slugs(t *testing.T) {
	t.Parallel()
	m := newMemory()
	products := newProducts(m)
	for i := range merchant.MaxProducts {
		p := coffee()
		p.Slug = fmt.Sprint("coffee-", i)
		if created, err := products.Create(t.Context(), p); err != nil || !created.CreatedAt.Equal(noon) {
			t.Fatalf("product %d = %+v, %v", i, created, err)
		}
	}
	if _, err := products.Create(t.Context(), coffee()); !errors.Is(err, merchant.ErrTooMany) {
		t.Errorf("one more product: %v", err)
	}
	delete(m.products, "coffee-0")
	p := coffee()
	p.Slug = "coffee-1"
	if _, err := products.Create(t.Context(), p); !errors.Is(err, merchant.ErrExists) {
		t.Errorf("product with a slug in use: %v", err)
	}
}

func TestProducts_Price_enforces_decimals_and_limits(t *testing.T) {
	t.Parallel()
	products := newProducts(newMemory())
	for _, tt := range []struct{ text, code, want, fault string }{
		{"3.50", "EUR", "3.5", ""},
		{"0003", "USD", "3", ""},
		{"1000000", "JPY", "1000000", ""},
		{"", "EUR", "", "price must be a number, digits with at most one dot, such as 12.50"},
		{"3,50", "EUR", "", "price must be a number, digits with at most one dot, such as 12.50"},
		{"1e3", "EUR", "", "price must be a number, digits with at most one dot, such as 12.50"},
		{strings.Repeat("1", 41), "EUR", "", "price must have at most 40 characters"},
		{"0", "EUR", "", "price must be more than 0"},
		{"1.5", "JPY", "", "price must have at most 0 decimals in JPY"},
		{"1000001", "EUR", "", "price must be at most 1000000 EUR"},
		{strings.Repeat("1", 40), "EUR", "", "price must be at most 1000000 EUR"},
		{"1", "XXX", "", "fiat_currency must be EUR, USD or JPY"},
	} {
		got, err := products.Price(tt.text, tt.code)
		checkFault(t, err, tt.fault)
		if err == nil && (got.String() != tt.want || got.Currency().Code != tt.code) {
			t.Errorf("Price(%q, %q) = %s %s, want %s", tt.text, tt.code, got, got.Currency().Code, tt.want)
		}
	}
}

func TestProducts_ForSale_hides_inactive_and_unsellable_products(t *testing.T) {
	t.Parallel()
	m := newMemory()
	hidden, foreign := coffee(), coffee()
	hidden.Active = false
	foreign.Price = money.MustParse("3.50", fiat("CHF")) // was enabled when the product was created
	m.products = map[string]merchant.Product{"coffee": coffee(), "hidden": hidden, "foreign": foreign}
	for text, want := range map[string]error{
		"coffee": nil, "Coffee": nil, "hidden": merchant.ErrNotFound, "foreign": merchant.ErrNotFound, "tea": merchant.ErrNotFound, "../": merchant.ErrNotFound,
	} {
		if _, err := newProducts(m).ForSale(t.Context(), "shop", text); !errors.Is(err, want) {
			t.Errorf("ForSale(%q): %v, want %v", text, err, want)
		}
	}
}

func TestProducts_MaxQuantity_keeps_the_amount_below_the_limit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		price   string
		maximum int
		want    int
	}{
		{"3.50", 0, 9999},
		{"3.50", 20, 20},
		{"1000", 0, 1000},
		{"1000", 20, 20},
		{"1000", 2000, 1000},
		{"999.99", 0, 1000},
		{"600000", 0, 1},
		{"1000000", 5, 1},
	} {
		p := coffee()
		p.Price, p.MaxQuantity = money.MustParse(tt.price, money.EUR), tt.maximum
		if got := newProducts(newMemory()).MaxQuantity(p); got != tt.want {
			t.Errorf("MaxQuantity at %s with a maximum of %d = %d, want %d", tt.price, tt.maximum, got, tt.want)
		}
	}
}

func TestProducts_CheckOrder_enforces_quantity_and_requirements(t *testing.T) {
	t.Parallel()
	const no, optional, required = merchant.AskNo, merchant.AskOptional, merchant.AskRequired
	for name, tt := range map[string]struct {
		quantity             int
		askOrderID, askNote  merchant.Requirement
		orderID, note, fault string
	}{
		"one":                      {1, no, no, "", "", ""},
		"the most":                 {20, no, no, "", "", ""},
		"none":                     {0, no, no, "", "", "quantity must be a whole number from 1 to 20"},
		"more":                     {21, no, no, "", "", "quantity must be a whole number from 1 to 20"},
		"answers":                  {1, required, required, "7", "No milk", ""},
		"optional answers":         {1, optional, optional, "7", "No milk", ""},
		"no optional answers":      {1, optional, optional, "", "", ""},
		"no required order number": {1, required, no, "", "", "order_id is required"},
		"no required note":         {1, no, required, "", "", "note is required"},
		"order number not asked":   {1, no, optional, "7", "", "order_id is not accepted for this product"},
		"note not asked":           {1, optional, no, "", "No milk", "note is not accepted for this product"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := coffee()
			p.MaxQuantity, p.AskOrderID, p.AskNote = 20, tt.askOrderID, tt.askNote
			checkFault(t, newProducts(newMemory()).CheckOrder(p, tt.quantity, tt.orderID, tt.note), tt.fault)
		})
	}
}
