package views_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"chequer/views"
)

func TestWords_write_out_an_amount(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ amount, code, want string }{
		{"56.5", "EUR", "fifty-six euros and fifty cents"},
		{"1", "EUR", "one euro"},
		{"1.5", "EUR", "one euro and fifty cents"},
		{"1.01", "USD", "one dollar and one cent"},
		{"0.07", "EUR", "seven cents"},
		{"150", "EUR", "one hundred and fifty euros"},
		{"1005", "EUR", "one thousand and five euros"},
		{"12345.12", "EUR", "twelve thousand three hundred and forty-five euros and twelve cents"},
		{"1000000", "EUR", "one million euros"},
		{"9999999.99", "EUR", "nine million nine hundred and ninety-nine thousand nine hundred and ninety-nine euros and ninety-nine cents"},
		{"12", "GBP", ""},
		{"12.345", "EUR", ""},
		{"x", "EUR", ""},
		{"", "EUR", ""},
	} {
		if got := views.Words(tt.amount, tt.code); got != tt.want {
			t.Errorf("Words(%q, %q) = %q, want %q", tt.amount, tt.code, got, tt.want)
		}
	}
}

func TestGroups_divide_decimals_and_addresses(t *testing.T) {
	t.Parallel()
	texts := func(groups []views.Group) []string {
		var s []string
		for _, g := range groups {
			s = append(s, g.Text)
		}
		return s
	}
	for _, tt := range []struct {
		name      string
		got, want []string
	}{
		{"satoshis", texts(views.AmountGroups("0.00065379")), []string{"0.00", "065", "379"}},
		{"with a comma", texts(views.AmountGroups("0,00065379")), []string{"0,00", "065", "379"}},
		{"five decimals", texts(views.AmountGroups("0.02118")), []string{"0.02", "118"}},
		{"short amounts stay whole", texts(views.AmountGroups("65.48")), []string{"65.48"}},
		{"whole amounts stay whole", texts(views.AmountGroups("1000000")), []string{"1000000"}},
		{"addresses go by four", texts(views.AddressGroups("bc1qw508d6")), []string{"bc1q", "w508", "d6"}},
		{"Lightning addresses stay whole", texts(views.AddressGroups("shopper@example.com")), []string{"shopper@example.com"}},
		{"no address", texts(views.AddressGroups("")), nil},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestReference_has_at_most_two_groups_of_four(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{"aK3x9QfWzz": "aK3x-9QfW", "aK3x": "aK3x"} {
		if got := views.Reference(id); got != want {
			t.Errorf("Reference(%q) = %q, want %q", id, got, want)
		}
	}
}
