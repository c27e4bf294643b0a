package merchant_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"chequer/internal/merchant"
)

// memoryShops stores shops.
type memoryShops struct {
	merchant.Storage
	shops   []merchant.NewShop
	refusal error
}

func (m *memoryShops) CreateShop(_ context.Context, n merchant.NewShop) error {
	if m.refusal != nil {
		return m.refusal
	}
	for _, other := range m.shops {
		if other.ID == n.ID {
			return merchant.ErrExists
		}
	}
	m.shops = append(m.shops, n)
	return nil
}

func TestCreateShop_makes_the_ID_of_the_name(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, want string }{
		{"Atelier Nord", "m_atelier-nord"},
		{" Kiosk \"Süd\" & Söhne ", "m_kiosk-sud-sohne"},
		{"Кафе", "m_shop"},
		{"4 & 5", "m_4-5"},
		{"a very long name of a shop on the corner", "m_a-very-long-name-of-a-sh"},
	} {
		storage := &memoryShops{}
		s := merchant.NewService(storage, now, tokens())
		m, err := s.CreateShop(t.Context(), tt.name, "acc_1")
		if err != nil || m.ID != tt.want || m.Name != strings.TrimSpace(tt.name) || !m.CreatedAt.Equal(noon) {
			t.Errorf("%q: got %+v, %v, want the ID %s", tt.name, m, err, tt.want)
			continue
		}
		n := storage.shops[0]
		if n.OwnerID != "acc_1" || len(n.Wallets) != 5 {
			t.Errorf("%q: got owner %q and %d test wallets", tt.name, n.OwnerID, len(n.Wallets))
		}
		for _, w := range n.Wallets {
			if w.MerchantID != m.ID || w.Mode != merchant.Test || (w.Secret == "") != w.IsConnection() || w.Counter == "" {
				t.Errorf("%q: got the test wallet %+v", tt.name, w)
			}
		}
		if second, err := s.CreateShop(t.Context(), tt.name, ""); err != nil || second.ID != tt.want+"-2" {
			t.Errorf("%q again: got %+v, %v", tt.name, second, err)
		}
	}
}

func TestCreateShop_refuses_a_name(t *testing.T) {
	t.Parallel()
	storage := &memoryShops{}
	s := merchant.NewService(storage, now, tokens())
	for _, name := range []string{"", "  ", "two\nlines", "a\u202eb", strings.Repeat("x", 65)} {
		if _, err := s.CreateShop(t.Context(), name, ""); !isField(err, "name") {
			t.Errorf("%q: got error %v", name, err)
		}
		if err := s.RenameShop(t.Context(), "m_first", "", name); !isField(err, "name") {
			t.Errorf("rename to %q: got error %v", name, err)
		}
	}
	storage.refusal = merchant.ErrNameTaken
	if _, err := s.CreateShop(t.Context(), "Nord", ""); !errors.Is(err, merchant.ErrNameTaken) || len(storage.shops) != 0 {
		t.Errorf("a name that is taken: got error %v and %d shops", err, len(storage.shops))
	}
}

// isField reports whether an error is about a field.
func isField(err error, field string) bool {
	refused, ok := errors.AsType[*merchant.FieldError](err)
	return ok && refused.Field == field
}

func TestChoose_finds_a_shop_by_ID_or_name(t *testing.T) {
	t.Parallel()
	nord, cafe := merchant.Merchant{ID: "m_first", Name: "Nord"}, merchant.Merchant{ID: "m_cafe", Name: "Café"}
	swapped := merchant.Merchant{ID: "m_swapped", Name: "m_first"}
	for _, tt := range []struct {
		shops      []merchant.Merchant
		name, want string
		fault      string
	}{
		{[]merchant.Merchant{nord}, "", "m_first", ""},
		{[]merchant.Merchant{nord}, "NORD", "m_first", ""},
		{[]merchant.Merchant{nord}, "Café", "", `there is no shop "Café"; there are m_first (Nord)`},
		{[]merchant.Merchant{nord, cafe}, "", "", "there are several shops, and none is named: m_first (Nord), m_cafe (Café)"},
		{[]merchant.Merchant{nord, cafe}, "m_cafe", "m_cafe", ""},
		{[]merchant.Merchant{nord, cafe}, "cafe\u0301", "m_cafe", ""},
		{[]merchant.Merchant{swapped, nord}, "m_first", "m_first", ""},
		{nil, "", "", "there are several shops"},
	} {
		got, err := merchant.Choose(tt.shops, tt.name)
		if got.ID != tt.want || tt.fault == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.fault) {
			t.Errorf("%q of %v: got %+v, %v", tt.name, tt.shops, got, err)
		}
	}
}
