package visit_test

import (
	"testing"

	"chequer/web/desk/visit"
)

func TestDecimalPoint_replaces_a_decimal_comma_only(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2,50": "2.50", "1500,5": "1500.5", "0,00099": "0.00099", "0,5": "0.5",
		"1,500": "1,500", "12,500": "12,500", "1,5,0": "1,5,0", "1.500,50": "1.500,50", "2.50": "2.50", "-2,50": "-2,50", ",50": ",50", "2,": "2,", "": "", "de,en": "de,en",
	} {
		if got := visit.DecimalPoint(text); got != want {
			t.Errorf("DecimalPoint(%q) = %q, want %q", text, got, want)
		}
	}
}
