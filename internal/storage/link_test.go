package storage_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/internal/invoice"
	"chequer/internal/merchant"
	"chequer/internal/money"
	"chequer/internal/storage"
)

func TestLink_is_read_changed_and_removed(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		ctx := t.Context()
		tips := merchant.Link{Slug: "tips", MerchantID: "shop", Mode: merchant.Test, Currency: "USD", CreatedAt: noon}
		coffee := merchant.Link{
			Slug: "coffee", MerchantID: "shop", Mode: merchant.Live, Amount: "3.5", Currency: "EUR", Description: "Ein \"Kaffee\" \u2028",
			Language: "de", URLSuccess: "https://shop.example/?a=1&b=2", URLFailure: "https://shop.example/no",
			Methods: "EURC-BASE BTC", EndsAt: noon.Add(time.Hour), MaxUses: 3, CreatedAt: noon.Add(time.Minute),
		}
		for _, l := range []merchant.Link{coffee, tips} {
			if err := s.CreateLink(ctx, l); err != nil {
				t.Fatal(err)
			}
		}
		conflicting := merchant.Link{Slug: "coffee", MerchantID: "bakery", Mode: merchant.Live, Currency: "EUR", CreatedAt: noon}
		if err := s.CreateLink(ctx, conflicting); !errors.Is(err, merchant.ErrExists) {
			t.Errorf("a slug in use: got error %v, want %v", err, merchant.ErrExists)
		}
		if got, err := s.Link(ctx, "coffee"); err != nil || got != coffee {
			t.Errorf("got %+v, %v, want %+v", got, err, coffee)
		}
		for _, want := range []merchant.Link{tips, coffee} {
			links, err := s.Links(ctx, "shop", want.Mode, merchant.LinkPosition{}, 10)
			if diff := cmp.Diff(links, []merchant.Link{want}); err != nil || diff != "" {
				t.Errorf("mode %s: error %v (-got +want):\n%s", want.Mode, err, diff)
			}
		}
		for name, remove := range map[string]func() error{
			"of another merchant": func() error {
				return s.RemoveLink(ctx, "bakery", merchant.Live, "coffee", noon, noon, unchecked[merchant.Link])
			},
			"of another mode": func() error {
				return s.RemoveLink(ctx, "shop", merchant.Test, "coffee", noon, noon, unchecked[merchant.Link])
			},
			"unknown": func() error {
				return s.RemoveLink(ctx, "shop", merchant.Live, "tea", noon, noon, unchecked[merchant.Link])
			},
		} {
			if err := remove(); !errors.Is(err, merchant.ErrNotFound) {
				t.Errorf("remove a link that is %s: got error %v, want %v", name, err, merchant.ErrNotFound)
			}
		}
		changed := coffee
		changed.Amount, changed.Currency, changed.Methods, changed.EndsAt, changed.MaxUses = "4", "USD", "", time.Time{}, 0
		got, err := s.UpdateLink(ctx, "shop", merchant.Live, "coffee", func(l *merchant.Link) error { *l = changed; return nil })
		if read, readErr := s.Link(ctx, "coffee"); err != nil || readErr != nil || got != changed || read != changed {
			t.Errorf("changed to %+v, %v, read %+v, %v, want %+v", got, err, read, readErr, changed)
		}
		if _, err := s.UpdateLink(ctx, "shop", merchant.Test, "coffee", func(*merchant.Link) error { return nil }); !errors.Is(err, merchant.ErrNotFound) {
			t.Errorf("change in another mode: got error %v, want %v", err, merchant.ErrNotFound)
		}
		errRefused := errors.New("refused")
		var checked merchant.Link
		if err := s.RemoveLink(ctx, "shop", merchant.Live, "coffee", noon, noon, func(stored merchant.Link) error { checked = stored; return errRefused }); !errors.Is(err, errRefused) {
			t.Errorf("a removal that the check refuses: got error %v, want %v", err, errRefused)
		}
		if diff := cmp.Diff(checked, changed); diff != "" {
			t.Errorf("the check gets (-got +want):\n%s", diff)
		}
		if err := s.RemoveLink(ctx, "shop", merchant.Live, "coffee", noon, noon, unchecked[merchant.Link]); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Link(ctx, "coffee"); !errors.Is(err, merchant.ErrNotFound) {
			t.Errorf("after it was removed: got error %v, want %v", err, merchant.ErrNotFound)
		}
		if err := s.CreateLink(ctx, conflicting); err != nil {
			t.Errorf("a slug of a removed link: %v", err)
		}
	})
}

// A removed link is absent until it is restored, with its uses. It is deleted when its slug is used again, and when a link
// is removed after the time for which it is kept.
func TestRestoreLink_returns_a_removed_link_with_its_uses(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		ctx := t.Context()
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		tips := merchant.Link{Slug: "tips", MerchantID: "shop", Mode: merchant.Live, Currency: "EUR", MaxUses: 2, CreatedAt: noon}
		must(s.CreateLink(ctx, tips))
		c := creation("a", "shop")
		c.Link = invoice.LinkUse{Slug: "tips", Max: 2}
		_, _, err := s.CreateInvoice(ctx, c)
		must(err)
		remove := func(slug string, at time.Time) {
			t.Helper()
			must(s.RemoveLink(ctx, "shop", merchant.Live, slug, at, at.Add(-time.Hour), unchecked[merchant.Link]))
		}
		checkRemoved := func(since time.Time, want ...merchant.RemovedLink) {
			t.Helper()
			got, err := s.RemovedLinks(ctx, "shop", since, 10)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("removed links (-want +got), error %v:\n%s", err, diff)
			}
		}
		restore := func(merchantID string, mode merchant.Mode, since time.Time, want error) {
			t.Helper()
			if err := s.RestoreLink(ctx, merchantID, mode, "tips", since); !errors.Is(err, want) {
				t.Errorf("restore of %s in mode %s since %s: got error %v, want %v", merchantID, mode, since, err, want)
			}
		}

		remove("tips", noon)
		checkRemoved(noon, merchant.RemovedLink{Link: tips, RemovedAt: noon})
		checkRemoved(noon.Add(time.Millisecond))
		for name, use := range map[string]func() error{
			"read": func() error { _, err := s.Link(ctx, "tips"); return err },
			"change": func() error {
				_, err := s.UpdateLink(ctx, "shop", merchant.Live, "tips", func(*merchant.Link) error { return nil })
				return err
			},
			"remove": func() error {
				return s.RemoveLink(ctx, "shop", merchant.Live, "tips", noon, noon, unchecked[merchant.Link])
			},
		} {
			if err := use(); !errors.Is(err, merchant.ErrNotFound) {
				t.Errorf("%s a removed link: got error %v", name, err)
			}
		}
		if all, err := s.Links(ctx, "shop", merchant.Live, merchant.LinkPosition{}, 10); err != nil || len(all) != 0 {
			t.Errorf("the list has %v, error %v", all, err)
		}
		restore("bakery", merchant.Live, noon, merchant.ErrNotFound)
		restore("shop", merchant.Test, noon, merchant.ErrNotFound)
		restore("shop", merchant.Live, noon.Add(time.Millisecond), merchant.ErrNotFound)
		restore("shop", merchant.Live, noon, nil)
		restore("shop", merchant.Live, noon, merchant.ErrNotFound) // it is not removed
		if got, err := s.Link(ctx, "tips"); err != nil || got != tips {
			t.Errorf("restored %+v, %v", got, err)
		}
		if used, err := s.LinkUses(ctx, "tips"); err != nil || used != 1 {
			t.Errorf("restored with %d uses, error %v, want 1", used, err)
		}

		remove("tips", noon)
		must(s.CreateLink(ctx, merchant.Link{Slug: "tips", MerchantID: "bakery", Mode: merchant.Live, Currency: "EUR", CreatedAt: noon}))
		checkRemoved(noon)
		restore("shop", merchant.Live, noon, merchant.ErrNotFound)

		tips.Slug = "old"
		must(s.CreateLink(ctx, tips))
		tips.Slug = "new"
		must(s.CreateLink(ctx, tips))
		remove("old", noon)
		remove("new", noon.Add(2*time.Hour))
		checkRemoved(time.UnixMilli(0), merchant.RemovedLink{Link: tips, RemovedAt: noon.Add(2 * time.Hour)})
	})
}

// The limit of a link counts the invoices that are paid or can still be paid.
func TestCreateInvoice_respects_the_limit_of_a_link(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		ctx := t.Context()
		tips := merchant.Link{Slug: "tips", MerchantID: "shop", Mode: merchant.Live, Currency: "EUR", MaxUses: 2, CreatedAt: noon}
		if err := s.CreateLink(ctx, tips); err != nil {
			t.Fatal(err)
		}
		use := func(id string) error {
			c := creation(id, "shop")
			c.Link = invoice.LinkUse{Slug: "tips", Max: 2}
			build := c.Build
			c.Build = func(next invoice.NextIndex) (*invoice.Invoice, error) {
				inv, err := build(next)
				inv.Origin = invoice.Origin{Kind: invoice.FromLink, ID: "tips"}
				return inv, err
			}
			_, _, err := s.CreateInvoice(ctx, c)
			return err
		}
		for _, step := range []struct {
			id   string
			want error
		}{{"a", nil}, {"b", nil}, {"c", invoice.ErrLinkUsed}} {
			if err := use(step.id); !errors.Is(err, step.want) {
				t.Errorf("%s: got error %v, want %v", step.id, err, step.want)
			}
		}
		end := func(inv *invoice.Invoice) error {
			inv.State.Status = invoice.Expired
			return nil
		}
		if _, err := s.UpdateInvoice(ctx, "a", invoice.Lease{}, end); err != nil {
			t.Fatal(err)
		}
		if used, err := s.LinkUses(ctx, "tips"); err != nil || used != 1 {
			t.Errorf("after one expired: %d uses, %v, want 1", used, err)
		}
		if err := use("d"); err != nil {
			t.Errorf("after one expired: %v", err)
		}
		for _, status := range []invoice.Status{invoice.Pending, invoice.Paid, invoice.Pending, invoice.Expired, invoice.Paid} {
			_, err := s.UpdateInvoice(ctx, "d", invoice.Lease{}, func(inv *invoice.Invoice) error {
				inv.State.Status = status
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if used, err := s.LinkUses(ctx, "tips"); err != nil || used != 2 {
			t.Errorf("after one expired and another was paid: %d uses, %v, want 2", used, err)
		}
		if err := use("e"); !errors.Is(err, invoice.ErrLinkUsed) {
			t.Errorf("at the limit again: got error %v", err)
		}
		if err := s.RemoveLink(ctx, "shop", merchant.Live, "tips", noon, noon, unchecked[merchant.Link]); err != nil {
			t.Fatal(err)
		}
		// The slug of a removed link with invoices cannot be used again, because sums identify a link by its slug.
		var fault *merchant.FieldError
		if err := s.CreateLink(ctx, tips); !errors.As(err, &fault) || fault.Field != "slug" {
			t.Errorf("creating the link again: got error %v, want a fault of the slug", err)
		}
		if _, err := s.UpdateInvoice(ctx, "b", invoice.Lease{}, end); err != nil {
			t.Errorf("an invoice of the removed link expires: %v", err)
		}
	})
}

// ordered returns a creation for an order of a key.
func ordered(id string, o invoice.Order) invoice.Creation {
	c := creation(id, "shop")
	c.Order = o
	return c
}

func TestCreateInvoice_follows_an_order(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		ctx := t.Context()
		for _, id := range []string{"k1", "k2"} {
			if err := s.CreateKey(ctx, newKey(id)); err != nil {
				t.Fatal(err)
			}
		}
		order := invoice.Order{KeyID: "k1", ID: "1042"}
		if _, err := s.OrderedInvoice(ctx, order); !errors.Is(err, invoice.ErrNotFound) {
			t.Errorf("before the first invoice: got error %v, want %v", err, invoice.ErrNotFound)
		}
		for _, tt := range []struct {
			id    string
			order invoice.Order
			want  string
		}{
			{"a", order, "a"},
			{"b", order, "a"},
			{"c", invoice.Order{KeyID: "k2", ID: "1042"}, "c"},
			{"d", invoice.Order{KeyID: "k1", ID: "1043"}, "d"},
			{"e", invoice.Order{KeyID: "k1", ID: "1042", After: "a"}, "e"},
			{"f", invoice.Order{KeyID: "k1", ID: "1042", After: "a"}, "e"},
		} {
			inv, replayed, err := s.CreateInvoice(ctx, ordered(tt.id, tt.order))
			if err != nil || inv.ID != tt.want || replayed != (tt.id != tt.want) {
				t.Fatalf("%s: got %v, replayed %v, error %v, want %s", tt.id, inv, replayed, err, tt.want)
			}
		}
		if inv, err := s.OrderedInvoice(ctx, order); err != nil || inv.ID != "e" {
			t.Errorf("afterwards: got %v, error %v, want e", inv, err)
		}
		pay := func(inv *invoice.Invoice) error {
			inv.State.Status = invoice.Paid
			return nil
		}
		if _, err := s.UpdateInvoice(ctx, "a", invoice.Lease{}, pay); err != nil {
			t.Fatal(err)
		}
		if inv, err := s.OrderedInvoice(ctx, order); err != nil || inv.ID != "a" {
			t.Errorf("after an earlier invoice was paid: got %v, error %v, want a", inv, err)
		}
		second := invoice.Order{KeyID: "k1", ID: "1042", After: "e"}
		if inv, replayed, err := s.CreateInvoice(ctx, ordered("g", second)); err != nil || inv.ID != "a" || !replayed {
			t.Errorf("a creation that does not know of the payment: got %v, replayed %v, error %v, want a", inv, replayed, err)
		}
	})
}

// Of several paid invoices of an order, the invoice with the requested price has priority.
func TestOrderedInvoice_prefers_the_requested_price(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		ctx := t.Context()
		if err := s.CreateKey(ctx, newKey("k1")); err != nil {
			t.Fatal(err)
		}
		after := ""
		for _, made := range []struct {
			id    string
			price money.Amount
		}{{"a", money.FromCents(500, money.EUR)}, {"b", money.FromCents(50000, money.EUR)}, {"c", money.FromCents(500, money.USD)}} {
			c := ordered(made.id, invoice.Order{KeyID: "k1", ID: "1042", After: after})
			build := c.Build
			c.Build = func(next invoice.NextIndex) (*invoice.Invoice, error) {
				inv, err := build(next)
				if err == nil {
					inv.Terms.Price, inv.Quotes[0].Due, inv.State.Status = made.price, made.price, invoice.Paid
				}
				return inv, err
			}
			create(t, s, c)
			after = made.id
			for _, tt := range []struct {
				price money.Amount
				want  string
			}{{made.price, made.id}, {money.FromCents(1, money.EUR), made.id}} {
				order := invoice.Order{KeyID: "k1", ID: "1042", Price: tt.price}
				if inv, err := s.OrderedInvoice(ctx, order); err != nil || inv.ID != tt.want {
					t.Errorf("after %s, at %s: got %v, error %v, want %s", made.id, tt.price, inv, err, tt.want)
				}
			}
		}
		if inv, err := s.OrderedInvoice(ctx, invoice.Order{KeyID: "k1", ID: "1042", Price: money.FromCents(500, money.EUR)}); err != nil || inv.ID != "a" {
			t.Errorf("at the first price: got %v, error %v, want a", inv, err)
		}
	})
}

func TestCreateInvoice_for_one_order_makes_one_invoice_concurrently(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, url string) {
		if err := s.CreateKey(t.Context(), newKey("k1")); err != nil {
			t.Fatal(err)
		}
		other := open(t, url) // like a second process
		var group sync.WaitGroup
		for i := range 32 {
			group.Go(func() {
				process := []*storage.Storage{s, other}[i%2]
				if _, _, err := process.CreateInvoice(t.Context(), ordered(fmt.Sprint("i", i), invoice.Order{KeyID: "k1", ID: "1042"})); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if ids := rows(t, url, "SELECT id FROM invoices"); len(ids) != 1 {
			t.Errorf("got invoices %q, want one", ids)
		}
	})
}

// An invoice is not created for a link that was removed, or that belongs to another merchant by now, since it was read.
func TestCreateInvoice_refuses_a_link_that_is_gone(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		ctx := t.Context()
		for _, l := range []merchant.Link{
			{Slug: "one", MerchantID: "shop", Mode: merchant.Live, Currency: "EUR", MaxUses: 1, CreatedAt: noon},
			{Slug: "other", MerchantID: "bakery", Mode: merchant.Live, Currency: "EUR", CreatedAt: noon},
		} {
			if err := s.CreateLink(ctx, l); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.RemoveLink(ctx, "shop", merchant.Live, "one", noon, noon, unchecked[merchant.Link]); err != nil {
			t.Fatal(err)
		}
		for i, use := range []invoice.LinkUse{{Slug: "one", Max: 1}, {Slug: "one"}, {Slug: "other", Max: 1}, {Slug: "none"}} {
			c := creation(fmt.Sprint("i", i), "shop")
			c.Link = use
			if _, _, err := s.CreateInvoice(ctx, c); !errors.Is(err, merchant.ErrNotFound) {
				t.Errorf("%+v: got error %v, want ErrNotFound", use, err)
			}
		}
		if used, err := s.LinkUses(ctx, "other"); err != nil || used != 0 {
			t.Errorf("the link of the other merchant has %d uses, error %v", used, err)
		}
	})
}

// The pages of the list have each link of a mode once, newest first, also links of one time. A limit bounds a page.
func TestLinks_in_pages(t *testing.T) {
	onBoth(t, func(t *testing.T, s *storage.Storage, _ string) {
		const links = 1203 // more than two pages of merchant.Links.All
		var want []string
		for i := range links {
			l := merchant.Link{Slug: fmt.Sprintf("l%05d", i), MerchantID: "shop", Mode: merchant.Live, Currency: "EUR", CreatedAt: noon.Add(time.Duration(i/3) * time.Second)}
			if err := s.CreateLink(t.Context(), l); err != nil {
				t.Fatal(err)
			}
			want = append(want, l.Slug)
		}
		slices.Reverse(want)
		first, err := s.Links(t.Context(), "shop", merchant.Live, merchant.LinkPosition{}, 2)
		if err != nil || len(first) != 2 || first[1].Slug != want[1] {
			t.Fatalf("error %v, got %+v, want %q", err, first, want[:2])
		}
		next, err := s.Links(t.Context(), "shop", merchant.Live, first[1].Position(), 1)
		if err != nil || len(next) != 1 || next[0].Slug != want[2] {
			t.Errorf("error %v, got %+v, want %s", err, next, want[2])
		}
		var got []string
		service := merchant.NewLinks(merchant.LinksConfig{Storage: s})
		for l, err := range service.All(t.Context(), "shop", merchant.Live) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, l.Slug)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("all pages (-want +got):\n%s", diff)
		}
	})
}
