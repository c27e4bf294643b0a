package views_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"chequer/views"
)

func TestFiat(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ amount, code, want string }{
		{"56.5", "EUR", "€56.50"},
		{"86420", "EUR", "€86,420.00"},
		{"86420.123", "EUR", "€86,420.123"},
		{"0.8629", "EUR", "€0.8629"},
		{"1.0000001", "USD", "$1.0000001"},
		{"1234567.89", "USD", "$1,234,567.89"},
		{"0", "EUR", "€0.00"},
		{"56.5", "CHF", "CHF\u00a056.50"},
		{"1234.5", "GBP", "£1,234.50"},
		{"5000", "JPY", "¥5,000"},
		{"14090781.5", "JPY", "¥14,090,781.5"},
		{"19990", "HUF", "HUF\u00a019,990.00"},
		{"", "EUR", "EUR"},
		{"12", "NOTHING", "12 NOTHING"},
		{"<b>", "EUR", "<b> EUR"},
	} {
		if got := views.Fiat(tt.amount, tt.code); got != tt.want {
			t.Errorf("Fiat(%q, %q) = %q, want %q", tt.amount, tt.code, got, tt.want)
		}
	}
}

func TestWords(t *testing.T) {
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

func TestGroups(t *testing.T) {
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
		{"five decimals", texts(views.AmountGroups("0.02118")), []string{"0.02", "118"}},
		{"short amounts stay whole", texts(views.AmountGroups("65.48")), []string{"65.48"}},
		{"whole amounts stay whole", texts(views.AmountGroups("1000000")), []string{"1000000"}},
		{"addresses go by four", texts(views.AddressGroups("bc1qw508d6")), []string{"bc1q", "w508", "d6"}},
		{"no address", texts(views.AddressGroups("")), nil},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 27, 14, 0, 0, 0, time.UTC)
	for _, tt := range []struct{ name, got, want string }{
		{"today", views.TimeOfDay("2026-11-27T15:42:07.000Z", now), "15:42 UTC"},
		{"another day", views.TimeOfDay("2026-11-28T00:05:00.000Z", now), "28 Nov, 00:05 UTC"},
		{"no time", views.TimeOfDay("soon", now), ""},
		{"moment", views.NewMoment("2026-11-27T15:42:07.000Z").Text, "27 Nov 2026, 15:42 UTC"},
		{"no moment", views.NewMoment("").Text, ""},
		{"seconds", views.Span(20 * time.Second), "less than a minute"},
		{"a minute", views.Span(61 * time.Second), "1 minute"},
		{"minutes", views.Span(21 * time.Minute), "21 minutes"},
		{"hours", views.Span(5 * time.Hour), "5 hours"},
		{"days", views.Span(49 * time.Hour), "2 days"},
		{"reference", views.Reference("aK3x9QfWzz"), "aK3x-9QfW"},
		{"short id", views.Reference("aK3x"), "aK3x"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s = %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}
