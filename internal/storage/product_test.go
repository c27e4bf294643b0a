package storage_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/storage"
)

func vatRate(t *testing.T, text string) money.VATRate {
	t.Helper()
	v, err := money.ParseVATRate(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestProduct_is_read_changed_and_removed(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		ctx := t.Context()
		tea := merchant.Product{
			Slug: "tea", MerchantID: "shop", Mode: merchant.Test, Name: "Tee \"grün\" \u2028 茶", Price: money.FromCents(999_999_999_999_99, money.USD),
			AskOrderID: merchant.AskRequired, AskNote: merchant.AskOptional, CreatedAt: noon,
		}
		coffee := merchant.Product{
			Slug: "coffee", MerchantID: "shop", Mode: merchant.Live, Name: "Coffee", Description: "Filter", Price: money.FromCents(350, money.EUR),
			VAT: vatRate(t, "19"), MaxQuantity: 20, AskOrderID: merchant.AskNo, AskNote: merchant.AskNo, Active: true, CreatedAt: noon.Add(time.Minute),
		}
		bakeryCoffee := coffee
		bakeryCoffee.MerchantID = "bakery"
		for _, p := range []merchant.Product{coffee, tea, bakeryCoffee} { // two merchants may use the same slug
			if err := s.CreateProduct(ctx, p); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.CreateProduct(ctx, coffee); !errors.Is(err, merchant.ErrExists) {
			t.Errorf("a slug in use: got error %v, want %v", err, merchant.ErrExists)
		}
		if got, err := s.Product(ctx, "bakery", "coffee"); err != nil || !cmp.Equal(got, bakeryCoffee) {
			t.Errorf("error %v (-got +want):\n%s", err, cmp.Diff(got, bakeryCoffee))
		}
		products, err := s.Products(ctx, "shop")
		if diff := cmp.Diff(products, []merchant.Product{tea, coffee}); err != nil || diff != "" {
			t.Errorf("error %v (-got +want):\n%s", err, diff)
		}

		errRefused := errors.New("refused")
		if _, err := s.UpdateProduct(ctx, "shop", merchant.Live, "coffee", func(p *merchant.Product) error {
			p.Name = "Tea"
			return errRefused
		}); !errors.Is(err, errRefused) {
			t.Errorf("a change that returns an error: got error %v, want %v", err, errRefused)
		}
		for name, change := range map[string]func() error{
			"of another merchant": func() error {
				return s.RemoveProduct(ctx, "cafe", merchant.Live, "coffee", unchecked[merchant.Product])
			},
			"of another mode": func() error {
				return s.RemoveProduct(ctx, "shop", merchant.Test, "coffee", unchecked[merchant.Product])
			},
			"unknown": func() error {
				_, err := s.UpdateProduct(ctx, "shop", merchant.Test, "coffee", func(*merchant.Product) error { return nil })
				return err
			},
		} {
			if err := change(); !errors.Is(err, merchant.ErrNotFound) {
				t.Errorf("a product that is %s: got error %v, want %v", name, err, merchant.ErrNotFound)
			}
		}
		want := coffee
		want.Name, want.Price, want.Active, want.MaxQuantity, want.AskNote = "Kaffee", money.FromCents(1, money.USD), false, 0, merchant.AskRequired
		want.VAT = vatRate(t, "0")
		got, err := s.UpdateProduct(ctx, "shop", merchant.Live, "coffee", func(p *merchant.Product) error {
			*p = want
			return nil
		})
		if diff := cmp.Diff(got, want); err != nil || diff != "" {
			t.Errorf("error %v (-got +want):\n%s", err, diff)
		}
		if got, err := s.Product(ctx, "shop", "coffee"); err != nil || !cmp.Equal(got, want) {
			t.Errorf("after another read: error %v (-got +want):\n%s", err, cmp.Diff(got, want))
		}

		var checked merchant.Product
		if err := s.RemoveProduct(ctx, "shop", merchant.Live, "coffee", func(stored merchant.Product) error { checked = stored; return errRefused }); !errors.Is(err, errRefused) {
			t.Errorf("a removal that the check refuses: got error %v, want %v", err, errRefused)
		}
		if diff := cmp.Diff(checked, want); diff != "" {
			t.Errorf("the check gets (-got +want):\n%s", diff)
		}
		if err := s.RemoveProduct(ctx, "shop", merchant.Live, "coffee", unchecked[merchant.Product]); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Product(ctx, "shop", "coffee"); !errors.Is(err, merchant.ErrNotFound) {
			t.Errorf("after it was removed: got error %v, want %v", err, merchant.ErrNotFound)
		}
	})
}

func TestProducts_lose_no_concurrent_change(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		p := merchant.Product{Slug: "coffee", MerchantID: "shop", Mode: merchant.Live, Name: "Coffee", Price: money.FromCents(100, money.EUR), CreatedAt: noon}
		if err := s.CreateProduct(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		other := open(t, url) // like a second process
		var group sync.WaitGroup
		for i := range 20 {
			group.Go(func() {
				process := []*storage.Storage{s, other}[i%2]
				if _, err := process.UpdateProduct(t.Context(), "shop", merchant.Live, "coffee", func(p *merchant.Product) error {
					p.Price = p.Price.Add(money.FromCents(1, money.EUR))
					return nil
				}); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if got, err := s.Product(t.Context(), "shop", "coffee"); err != nil || got.Price.Cents() != 120 {
			t.Errorf("got %v, error %v, want 120 cents", got.Price, err)
		}
	})
}

func TestTerminal_is_read_and_removed(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		ctx := t.Context()
		bar := merchant.Terminal{ID: "pos_1", MerchantID: "shop", Mode: merchant.Live, Name: "Bar", Currency: "EUR", CreatedAt: noon.Add(time.Minute)}
		yard := merchant.Terminal{ID: "pos_2", MerchantID: "shop", Mode: merchant.Test, Currency: "USD", CreatedAt: noon}
		for hash, terminal := range map[string]merchant.Terminal{"aa": bar, "bb": yard} {
			if err := s.CreateTerminal(ctx, terminal, hash); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := s.Terminal(ctx, "aa"); err != nil || got != bar {
			t.Errorf("got %+v, %v, want %+v", got, err, bar)
		}
		if terminals, err := s.Terminals(ctx, "shop"); err != nil || !cmp.Equal(terminals, []merchant.Terminal{yard, bar}) {
			t.Errorf("got %+v, error %v", terminals, err)
		}
		for _, unknown := range [][2]string{{"bakery", "pos_1"}, {"shop", "pos_3"}} {
			if err := s.RemoveTerminal(ctx, unknown[0], unknown[1]); !errors.Is(err, merchant.ErrNotFound) {
				t.Errorf("remove %v: got error %v, want %v", unknown, err, merchant.ErrNotFound)
			}
		}
		if err := s.RemoveTerminal(ctx, "shop", "pos_1"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Terminal(ctx, "aa"); !errors.Is(err, merchant.ErrNotFound) {
			t.Errorf("after it was removed: got error %v, want %v", err, merchant.ErrNotFound)
		}
	})
}

// The slug of a removed product or link that has invoices cannot be used again in their mode, because sums identify a source by
// its slug.
func TestCreate_refuses_the_slug_of_a_sold_source(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		ctx := t.Context()
		for i, kind := range []invoice.OriginKind{invoice.FromProduct, invoice.FromLink} {
			c := creation(fmt.Sprint("i", i), "shop")
			build := c.Build
			c.Build = func(next invoice.NextIndex) (*invoice.Invoice, error) {
				inv, err := build(next)
				inv.Origin = invoice.Origin{Kind: kind, ID: "sold-" + string(kind)}
				return inv, err
			}
			create(t, s, c)
		}
		product := func(merchantID string, mode merchant.Mode, slug string) error {
			return s.CreateProduct(ctx, merchant.Product{MerchantID: merchantID, Mode: mode, Slug: slug, Name: "Soap", Price: money.MustParse("4", money.EUR), CreatedAt: noon})
		}
		link := func(merchantID string, mode merchant.Mode, slug string) error {
			return s.CreateLink(ctx, merchant.Link{MerchantID: merchantID, Mode: mode, Slug: slug, Currency: "EUR", CreatedAt: noon})
		}
		for _, create := range []struct {
			name string
			err  error
		}{{"product", product("shop", merchant.Live, "sold-product")}, {"link", link("shop", merchant.Live, "sold-link")}} {
			fault, ok := errors.AsType[*merchant.FieldError](create.err)
			if !ok || fault.Field != "slug" || !strings.Contains(fault.Fault, "a removed "+create.name+" with this slug has invoices") {
				t.Errorf("%s: got error %v, want a fault of the slug", create.name, create.err)
			}
		}
		for name, err := range map[string]error{
			"product in the other mode": product("shop", merchant.Test, "sold-product"), "product with the slug of a link": product("shop", merchant.Live, "sold-link"),
			"link with the slug of a product": link("shop", merchant.Live, "sold-product"), "link of another shop": link("bakery", merchant.Live, "sold-link"),
		} {
			if err != nil {
				t.Errorf("%s: got error %v, want none", name, err)
			}
		}
		if all, err := s.Products(ctx, "shop"); err != nil || len(all) != 2 {
			t.Errorf("%d products, error %v, want 2", len(all), err)
		}
	})
}
