package merchant_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"chequer/internal/merchant"
	"chequer/internal/money"
)

// differ returns a copy of a value for each of its fields, with another value in the field.
func differ[T any](t *testing.T, value T) map[string]T {
	t.Helper()
	all := map[string]T{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		changed := value
		field := reflect.ValueOf(&changed).Elem().FieldByIndex(f.Index)
		switch v := field.Interface().(type) {
		case time.Time:
			field.Set(reflect.ValueOf(v.Add(time.Second)))
		case money.Amount:
			field.Set(reflect.ValueOf(v.Add(money.FromCents(1, v.Currency()))))
		case money.VATRate:
			field.Set(reflect.ValueOf(zeroVAT(t)))
		default:
			switch field.Kind() {
			case reflect.String:
				field.SetString(field.String() + "x")
			case reflect.Int:
				field.SetInt(field.Int() + 1)
			case reflect.Bool:
				field.SetBool(!field.Bool())
			default:
				t.Fatalf("the field %s has a type that the test does not know", f.Name)
			}
		}
		all[f.Name] = changed
	}
	return all
}

// zeroVAT returns the VAT rate of 0 percent.
func zeroVAT(t *testing.T) money.VATRate {
	t.Helper()
	v, err := merchant.ParseVATRate("0")
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestRevision_differs_with_every_field(t *testing.T) {
	t.Parallel()
	p, l := coffee(), merchant.Link{Slug: "coffee", MerchantID: "shop", Amount: "3.50", Currency: "EUR"}
	for field, changed := range differ(t, p) {
		if changed.Revision() == p.Revision() {
			t.Errorf("another %s of a product does not change the revision", field)
		}
	}
	for field, changed := range differ(t, l) {
		if changed.Revision() == l.Revision() {
			t.Errorf("another %s of a link does not change the revision", field)
		}
	}
	moved := p
	moved.Name, moved.Description = p.Name+"\" \"", "\" \""
	if moved.Revision() == p.Revision() {
		t.Error("values that differ only by their bounds have the same revision")
	}
}

func TestProducts_refuse_a_change_of_another_revision(t *testing.T) {
	t.Parallel()
	m := newMemory()
	products := newProducts(m)
	made, err := products.Create(t.Context(), coffee())
	if err != nil {
		t.Fatal(err)
	}
	rename := func(p *merchant.Product) error { p.Name = "Espresso"; return nil }
	changed, err := products.ChangeSeen(t.Context(), "shop", merchant.Live, "coffee", made.Revision(), rename)
	if err != nil || changed.Name != "Espresso" {
		t.Fatalf("product = %+v, error %v", changed, err)
	}
	if _, err := products.ChangeSeen(t.Context(), "shop", merchant.Live, "coffee", made.Revision(), rename); !errors.Is(err, merchant.ErrStale) {
		t.Errorf("change of an earlier revision: %v", err)
	}
	if err := products.RemoveSeen(t.Context(), "shop", merchant.Live, "coffee", made.Revision()); !errors.Is(err, merchant.ErrStale) || len(m.products) != 1 {
		t.Errorf("removal of an earlier revision: %v, %d products", err, len(m.products))
	}
	if err := products.RemoveSeen(t.Context(), "shop", merchant.Live, "coffee", changed.Revision()); err != nil || len(m.products) != 0 {
		t.Errorf("removal: %v, %d products", err, len(m.products))
	}
}

func TestLinks_refuse_a_change_of_another_revision(t *testing.T) {
	t.Parallel()
	m := newMemory()
	links := newLinks(m)
	made, err := links.Create(t.Context(), merchant.Link{Slug: "tips", MerchantID: "shop", Mode: merchant.Live, Currency: "EUR"})
	if err != nil {
		t.Fatal(err)
	}
	price := func(l *merchant.Link) error { l.Amount = "5"; return nil }
	changed, err := links.ChangeSeen(t.Context(), "shop", merchant.Live, "tips", made.Revision(), price)
	if err != nil || changed.Amount != "5" {
		t.Fatalf("link = %+v, error %v", changed, err)
	}
	if _, err := links.ChangeSeen(t.Context(), "shop", merchant.Live, "tips", made.Revision(), price); !errors.Is(err, merchant.ErrStale) {
		t.Errorf("change of an earlier revision: %v", err)
	}
	if err := links.RemoveSeen(t.Context(), "shop", merchant.Live, "tips", made.Revision()); !errors.Is(err, merchant.ErrStale) || len(m.links) != 1 {
		t.Errorf("removal of an earlier revision: %v, %d links", err, len(m.links))
	}
	if err := links.Remove(t.Context(), "shop", merchant.Live, "tips"); err != nil || len(m.links) != 0 {
		t.Errorf("removal: %v, %d links", err, len(m.links))
	}
}
