package merchant_test

import (
	"strings"
	"testing"

	"chequer/internal/merchant"
)

func TestRules_name_the_fault_of_a_text(t *testing.T) {
	t.Parallel()
	text := func(s string) error { return merchant.CheckText(s, 4) }
	line := func(s string) error { return merchant.CheckLine(s, 4) }
	paragraph := func(s string) error { return merchant.CheckParagraph(s, 4) }
	for _, tt := range []struct {
		rule        string
		check       func(string) error
		text, fault string
	}{
		{"text", text, "", ""},
		{"text", text, "äöü€", ""},
		{"text", text, "äöü€\u00df", "must have at most 4 characters"},
		{"text", text, "a\n\u202e", ""},
		{"line", line, "äöü€", ""},
		{"line", line, "abcde", "must have at most 4 characters"},
		{"line", line, "\xff", "must be valid UTF-8"},
		{"line", line, "a\nb", "must not contain the invisible character U+000A"},
		{"line", line, "a\tb", "must not contain the invisible character U+0009"},
		{"line", line, "a\x00", "must not contain the invisible character U+0000"},
		{"line", line, "a\x7f", "must not contain the invisible character U+007F"},
		{"line", line, "a\u0085", "must not contain the invisible character U+0085"},
		{"line", line, "a\u2028", "must not contain the invisible character U+2028"},
		{"line", line, "a\u2066", "must not contain the invisible character U+2066"},
		{"line", line, "a\u202b", "must not contain the invisible character U+202B"},
		{"line", line, "שלום", ""}, // text from right to left is not refused
		{"paragraph", paragraph, "a\nb", ""},
		{"paragraph", paragraph, "a\rb", "must not contain the invisible character U+000D"},
		{"paragraph", paragraph, "a\u2029", "must not contain the invisible character U+2029"},
		{"language", merchant.CheckLanguage, "de", ""},
		{"language", merchant.CheckLanguage, "zh-Hant-TW", ""},
		{"language", merchant.CheckLanguage, "", "must be a language tag such as de or pt-BR"},
		{"language", merchant.CheckLanguage, "d", "must be a language tag such as de or pt-BR"},
		{"language", merchant.CheckLanguage, "de_AT", "must be a language tag such as de or pt-BR"},
		{"language", merchant.CheckLanguage, "de" + strings.Repeat("-a", 5), "must be a language tag such as de or pt-BR"},
	} {
		fault := ""
		if err := tt.check(tt.text); err != nil {
			fault = err.Error()
		}
		if fault != tt.fault {
			t.Errorf("%s %q: fault %q, want %q", tt.rule, tt.text, fault, tt.fault)
		}
	}
}

func TestCheckWhole_enforces_both_limits(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]bool{0: false, 1: true, 9: true, 10: false, -1: false} {
		if err := merchant.CheckWhole(n, 1, 9); (err == nil) != want {
			t.Errorf("CheckWhole(%d, 1, 9) = %v", n, err)
		}
	}
}
