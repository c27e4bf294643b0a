package format_test

import (
	"strings"
	"testing"

	"chequer/internal/format"
)

func TestGrouped_separates_thousands(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 870_123: "870,123", 12_345_678: "12,345,678", -5: "-5", -123: "-123", -1234: "-1,234"} {
		if got := format.Grouped(n); got != want {
			t.Errorf("Grouped(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestPlural_agrees_with_the_number(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0 sales", 1: "1 sale", 2: "2 sales", 1500: "1,500 sales"} {
		if got := format.Plural(n, "sale"); got != want {
			t.Errorf("Plural(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestOneLine_returns_printable_text(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text    string
		maximum int
		want    string
	}{
		"short":             {"connection refused", 40, "connection refused"},
		"line_breaks":       {"one\r\n\r\n two\tthree ", 40, "one two three"},
		"control":           {"red \x1b[31m text\x00", 40, "red [31m text"},
		"direction":         {"a\u202eb", 40, "a b"},
		"invalid_UTF-8":     {"a\xff\xfeb", 40, "ab"},
		"exactly_as_long":   {"äöü", 3, "äöü"},
		"longer":            {"äöüß", 3, "äö…"},
		"many_spaces":       {strings.Repeat(" ", 1000) + "text", 10, "text"},
		"spaces_after_text": {"a" + strings.Repeat(" ", 1000) + "text", 10, "a…"},
		"large":             {strings.Repeat("äöü ", 1<<20), 8, "äöü äöü…"},
		"empty":             {"", 8, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := format.OneLine(tt.text, tt.maximum); got != tt.want {
				t.Errorf("OneLine(%.40q, %d) = %q, want %q", tt.text, tt.maximum, got, tt.want)
			}
		})
	}
}

func TestPercentEncode_leaves_unreserved_characters(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"aZ09-._~": "aZ09-._~", "a b+c": "a%20b%2Bc", "ä/?&=": "%C3%A4%2F%3F%26%3D", "!*'()": "%21%2A%27%28%29"} {
		if got := format.PercentEncode(text); got != want {
			t.Errorf("PercentEncode(%q) = %q, want %q", text, got, want)
		}
	}
}
