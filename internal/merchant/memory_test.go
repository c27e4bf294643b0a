package merchant_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"chequer/internal/merchant"
	"chequer/internal/money"
)

var (
	noon   = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	prices = merchant.NewPrices([]money.Currency{fiat("JPY")}, "1000000")
)

func now() time.Time { return noon }

func fiat(code string) money.Currency {
	c, known := money.Fiat(code)
	if !known {
		panic("no currency " + code)
	}
	return c
}

// tokens returns a function that returns a new text of upper-case letters and digits on each call.
func tokens() func(int) string {
	created := 0
	return func(length int) string { created++; return fmt.Sprintf("A%0*d", length-1, created) }
}

// memory stores links, products and terminals. Methods that the tests do not need are missing.
type memory struct {
	merchant.LinkStorage
	merchant.ProductStorage
	merchant.AssignmentStorage
	links     map[string]merchant.Link
	products  map[string]merchant.Product
	terminals map[string]merchant.Terminal
	read      int // number of reads by slug or hash
}

func newMemory() *memory {
	return &memory{links: map[string]merchant.Link{}, products: map[string]merchant.Product{}, terminals: map[string]merchant.Terminal{}}
}

func create[T any](rows map[string]T, key string, v T) error {
	if _, exists := rows[key]; exists {
		return merchant.ErrExists
	}
	rows[key] = v
	return nil
}

func find[T any](m *memory, rows map[string]T, key string) (T, error) {
	m.read++
	v, known := rows[key]
	if !known {
		return v, merchant.ErrNotFound
	}
	return v, nil
}

func update[T any](rows map[string]T, key string, change func(*T) error) (T, error) {
	v, known := rows[key]
	if !known {
		return v, merchant.ErrNotFound
	}
	if err := change(&v); err != nil {
		return v, err
	}
	rows[key] = v
	return v, nil
}

func remove[T any](all map[string]T, key string, check func(T) error) error {
	v, known := all[key]
	if !known {
		return merchant.ErrNotFound
	}
	if err := check(v); err != nil {
		return err
	}
	delete(all, key)
	return nil
}

func (m *memory) CreateLink(_ context.Context, l merchant.Link) error {
	return create(m.links, l.Slug, l)
}

func (m *memory) Link(_ context.Context, slug string) (merchant.Link, error) {
	return find(m, m.links, slug)
}

func (m *memory) UpdateLink(_ context.Context, _ string, _ merchant.Mode, slug string, change func(*merchant.Link) error) (merchant.Link, error) {
	return update(m.links, slug, change)
}

func (m *memory) RemoveLink(_ context.Context, _ string, _ merchant.Mode, slug string, _, _ time.Time, check func(merchant.Link) error) error {
	return remove(m.links, slug, check)
}

func (m *memory) RemovedLinks(context.Context, string, time.Time, int) ([]merchant.RemovedLink, error) {
	return nil, errors.ErrUnsupported // tested with the storage
}

func (m *memory) RestoreLink(context.Context, string, merchant.Mode, string, time.Time) error {
	return errors.ErrUnsupported // tested with the storage
}

func (m *memory) RemoveProduct(_ context.Context, _ string, _ merchant.Mode, slug string, check func(merchant.Product) error) error {
	return remove(m.products, slug, check)
}

func (m *memory) CreateProduct(_ context.Context, p merchant.Product) error {
	return create(m.products, p.Slug, p)
}

func (m *memory) Product(_ context.Context, _, slug string) (merchant.Product, error) {
	return find(m, m.products, slug)
}

func (m *memory) Products(context.Context, string) (products []merchant.Product, err error) {
	for _, p := range m.products {
		products = append(products, p)
	}
	return products, nil
}

func (m *memory) UpdateProduct(_ context.Context, _ string, _ merchant.Mode, slug string, change func(*merchant.Product) error) (merchant.Product, error) {
	return update(m.products, slug, change)
}

func (m *memory) CreateTerminal(_ context.Context, t merchant.Terminal, hash string) error {
	return create(m.terminals, hash, t)
}

func (m *memory) Terminal(_ context.Context, hash string) (merchant.Terminal, error) {
	return find(m, m.terminals, hash)
}

func (m *memory) Terminals(context.Context, string) ([]merchant.Terminal, error) { return nil, nil }

func (m *memory) RemoveTerminal(context.Context, string, string) error { return nil }

// checkFault checks that an error is a FieldError with the given text, or nil if want is empty.
func checkFault(t *testing.T, got error, want string) {
	t.Helper()
	if got == nil && want == "" {
		return
	}
	fault, ok := errors.AsType[*merchant.FieldError](got)
	if !ok || fault.Error() != want {
		t.Errorf("error = %v, want the FieldError %q", got, want)
	}
}
